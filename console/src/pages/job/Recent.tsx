import { useInfiniteQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useMay } from '@/api/session';
import type { Execution, Job } from '@/api/types';
import { CauseText, useColumns } from '@/pages/executions/columns';
import { executionsQuery } from '@/pages/executions/queries';
import { EmptyState } from '@/parts/EmptyState';
import { RunBars } from '@/parts/job/RunBars';
import { DataTable } from '@/parts/table/DataTable';

/** The executions of one job, as the list of all shows them. */
export function Recent({ job: { id: jobId, job_group } }: { job: Job }) {
  const { t } = useTranslation('jobs');
  const may = useMay();
  const list = useInfiniteQuery(executionsQuery({ job_id: String(jobId) }));
  const columns = useColumns()
    .filter(({ key }) => key !== 'attempt' && key !== 'cause')
    .map((column) => (column.key === 'job' ? { title: t('columns.number'), key: 'number', render: number } : column));
  return (
    <section>
      <header className="recent-head">
        <h2>{t('recent.title')}</h2>
        <RunBars runs={list.data?.pages[0]?.items ?? []} height={28} />
        <Link to={`/executions?job_id=${jobId}`}>{t('recent.all')}</Link>
      </header>
      <DataTable<Execution>
        label={t('recent.title')}
        list={list}
        columns={columns}
        rowKey="id"
        empty={<EmptyState title={t('recent.empty')}>{may('operate', job_group) && t('recent.hint')}</EmptyState>}
      />
    </section>
  );
}

/** Its number, and why it ran: there is less room here than in the list of all. */
function number(_: unknown, one: Execution) {
  return (
    <>
      <Link to={`/executions/${one.id}`} data-open>
        #{one.id}
      </Link>
      <div className="cell-sub">
        <CauseText cause={one.cause} />
      </div>
    </>
  );
}
