import { useInfiniteQuery } from '@tanstack/react-query';
import { type TableColumnsType, Tag } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useGroups } from '@/api/groups';
import { useMaySomewhere } from '@/api/session';
import { type ScriptListed, scriptsQuery } from '@/pages/scripts/queries';
import type { CodeKind } from '@/parts/code/languages';
import { EmptyState } from '@/parts/EmptyState';
import { Page } from '@/parts/Page';
import { DataTable } from '@/parts/table/DataTable';
import { Instant } from '@/parts/time/Instant';

/** Jobs that carry their own code. */
export function Scripts() {
  const { t } = useTranslation('scripts');
  const may = useMaySomewhere();
  const groups = useGroups();
  const list = useInfiniteQuery(scriptsQuery);
  const columns: TableColumnsType<ScriptListed> = [
    {
      title: t('list.job'),
      key: 'job',
      render: (_, one) => (
        <Link to={`/scripts/${one.job_id}`} className="cell-main">
          {one.job_desc}
        </Link>
      ),
    },
    { title: t('list.group'), key: 'group', render: (_, one) => groups.name(one.job_group) },
    { title: t('list.kind'), key: 'kind', render: (_, one) => <Tag>{t(`kind.${one.glue_type as CodeKind}`)}</Tag> },
    { title: t('list.remark'), key: 'remark', dataIndex: 'glue_remark' },
    { title: t('list.saved'), key: 'saved', className: 'nowrap', render: (_, one) => <Instant at={one.saved_at} /> },
  ];
  return (
    <Page title={t('title')} intro={t('intro')}>
      <DataTable<ScriptListed>
        label={t('title')}
        list={list}
        columns={columns}
        rowKey="job_id"
        empty={
          <EmptyState title={t('list.empty')} {...(may('administer') && { snippet: 'orth script allow GROUP' })}>
            {t('list.emptyHint')}
          </EmptyState>
        }
      />
    </Page>
  );
}
