import { PlusOutlined } from '@ant-design/icons';
import { useInfiniteQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { allowsSomewhere, useSession } from '@/api/session';
import type { BoardRow } from '@/api/types';
import { BulkBar } from '@/pages/jobs/BulkBar';
import { useColumns } from '@/pages/jobs/columns';
import { EverythingBar } from '@/pages/jobs/EverythingBar';
import { FilterBar } from '@/pages/jobs/FilterBar';
import { asQuery, FILTERS, type JobFilters } from '@/pages/jobs/filters';
import { ImportDialog } from '@/pages/jobs/ImportDialog';
import { boardQuery } from '@/pages/jobs/queries';
import { useJobSelection } from '@/pages/jobs/selection';
import { EmptyState } from '@/parts/EmptyState';
import { NotUnderstood } from '@/parts/NotUnderstood';
import { Page } from '@/parts/Page';
import { DataTable } from '@/parts/table/DataTable';
import { FLEXING } from '@/parts/table/flexing';
import { notUnderstood, useUnknown, useUrlFilters } from '@/parts/useUrlFilters';
import { SavedViews } from '@/parts/views/SavedViews';
import './jobs.css';

/** All jobs with how they went; the filters are in the address. */
export function Jobs() {
  const { t } = useTranslation('jobs');
  const navigate = useNavigate();
  const session = useSession();
  const [filters, change] = useUrlFilters(FILTERS);
  const [unknown, remove] = useUnknown(FILTERS);
  const strange = [...notUnderstood(filters, asQuery(filters)), ...Object.keys(unknown)];
  const list = useInfiniteQuery({
    ...boardQuery(filters),
    enabled: strange.length === 0,
  });
  const columns = useColumns();
  const rows = list.data?.pages.flatMap((page) => page.items) ?? [];
  const { chosen, all, select, selectAll } = useJobSelection(filters, rows);
  const more = list.hasNextPage && rows.every((row) => chosen.includes(row));
  const may = (needs: 'operate' | 'edit') => !!session && allowsSomewhere(session.rights, needs);
  const create = (
    <Button type="primary" icon={<PlusOutlined />} onClick={() => void navigate('/jobs/new')}>
      {t('new')}
    </Button>
  );
  return (
    <Page
      title={t('title')}
      intro={t('intro')}
      actions={
        <>
          <SavedViews />
          {may('edit') && <ImportDialog />}
          {may('edit') && create}
        </>
      }
    >
      <FilterBar filters={filters} change={change} />
      {all && <EverythingBar filters={filters} clear={() => select([])} />}
      {!all && chosen.length > 0 && <BulkBar chosen={chosen} keep={select} all={more ? selectAll : null} />}
      {strange.length > 0 ? (
        <NotUnderstood filters={{ ...filters, ...unknown }} names={strange} change={remove} />
      ) : (
        <DataTable<BoardRow>
          label={t('title')}
          list={list}
          columns={columns}
          {...FLEXING}
          rowKey={({ job }) => job.id}
          {...(may('operate') && {
            rowSelection: {
              selectedRowKeys: chosen.map(({ job }) => job.id),
              preserveSelectedRowKeys: true,
              onChange: select,
              getCheckboxProps: ({ job }: BoardRow) =>
                ({ 'aria-label': t('choose', { job: job.job_desc }) }) as Record<string, string>,
            },
          })}
          empty={<Empty filters={filters} create={may('edit') && create} />}
        />
      )}
    </Page>
  );
}

function Empty({ filters, create }: { filters: JobFilters; create: React.ReactNode }) {
  const { t } = useTranslation('jobs');
  if (Object.keys(filters).length > 0) return <EmptyState title={t('empty.filtered')} />;
  return (
    <EmptyState title={t('empty.title')} action={create}>
      {t('empty.hint')}
    </EmptyState>
  );
}
