import { useInfiniteQuery } from '@tanstack/react-query';
import type { TableColumnsType } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { usePolling } from '@/live/LiveProvider';
import { AddSilence } from '@/pages/alarms/AddSilence';
import { type Failing, failingQuery } from '@/pages/alarms/queries';
import { EmptyState } from '@/parts/EmptyState';
import { DataTable } from '@/parts/table/DataTable';
import { Ago } from '@/parts/time/Ago';
import { Instant } from '@/parts/time/Instant';

/** Jobs that failed and have not succeeded since. */
export function Firing() {
  const { t } = useTranslation('alarms');
  const list = useInfiniteQuery({ ...failingQuery, refetchInterval: usePolling(10_000) });
  const columns: TableColumnsType<Failing> = [
    { title: t('job'), key: 'job', render: (_, one) => <JobName id={one.job_id} name={one.job_desc} /> },
    { title: t('firing.since'), key: 'since', className: 'nowrap', render: (_, one) => <Ago at={one.since} /> },
    { title: t('firing.failures'), key: 'failures', align: 'right', dataIndex: 'failures' },
    {
      title: t('firing.first'),
      key: 'first',
      render: (_, one) => <Link to={`/executions/${one.execution_id}`}>#{one.execution_id}</Link>,
    },
    {
      title: t('firing.told'),
      key: 'told',
      className: 'nowrap',
      render: (_, one) =>
        one.told_at ? <Instant at={one.told_at} /> : <span className="muted">{t('firing.notTold')}</span>,
    },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, one) => <AddSilence jobId={one.job_id} />,
    },
  ];
  return (
    <DataTable<Failing>
      label={t('tabs.firing')}
      list={list}
      columns={columns}
      rowKey="job_id"
      empty={<EmptyState title={t('firing.empty')}>{t('firing.emptyHint')}</EmptyState>}
    />
  );
}

export function JobName({ id, name }: { id: number; name: string | null | undefined }) {
  const { t } = useTranslation('alarms');
  return (
    <Link to={`/executions?job_id=${id}`} className="cell-main cell-name" title={name ?? undefined}>
      {name ?? t('removedJob', { id })}
    </Link>
  );
}
