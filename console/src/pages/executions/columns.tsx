import type { TableColumnsType } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Cause, Execution } from '@/api/types';
import { AlarmMark } from '@/pages/executions/AlarmMark';
import { CAUSES } from '@/pages/executions/filters';
import { RowActions } from '@/pages/executions/RowActions';
import { RowProgress } from '@/pages/executions/RowProgress';
import { YIELDING } from '@/parts/table/flexing';
import { RanFor } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { PhaseText } from '@/status/PhaseText';
import { StatusTag } from '@/status/StatusTag';

/** So many rows, the newest, ask how far they are: each is a question to an executor. */
const ASKING = 20;

/**
 * The columns people ask for: which job, how it ended, why it ran, when, how long, and where. `longestFirst` says in which
 * order the list is; without it, that cannot be chosen.
 */
export function useColumns(longestFirst?: boolean): TableColumnsType<Execution> {
  const { t } = useTranslation('executions');
  return useMemo(
    () => [
      {
        title: t('columns.status'),
        key: 'status',
        render: (_, one, index) => (
          <>
            <StatusTag execution={one} />
            <AlarmMark execution={one} />
            <PhaseText execution={one} />
            {one.status === 'pending' && index < ASKING && <RowProgress execution={one} />}
          </>
        ),
      },
      { title: t('columns.job'), key: 'job', className: 'flexing', render: (_, one) => <JobCell execution={one} /> },
      {
        title: t('columns.cause'),
        key: 'cause',
        responsive: YIELDING,
        render: (_, one) => <CauseText cause={one.cause} />,
      },
      {
        title: t('columns.due'),
        key: 'due',
        className: 'nowrap',
        render: (_, one) => <Instant at={one.schedule_time ?? one.trigger_time} />,
      },
      {
        title: t('columns.start'),
        key: 'start',
        responsive: YIELDING,
        className: 'nowrap',
        render: (_, one) => <Instant at={one.start_time} />,
      },
      {
        title: t('columns.duration'),
        key: 'duration',
        ...(longestFirst !== undefined && {
          sorter: true, // by the server: only it knows those that are not shown
          sortDirections: ['descend' as const],
          sortOrder: longestFirst ? ('descend' as const) : null,
        }),
        align: 'right',
        className: 'nowrap',
        // Of one that its executor has, and does not say it runs, nobody knows whether it has begun.
        render: (_, one) => <RanFor run={one} />,
      },
      { title: t('columns.executor'), key: 'executor', render: (_, one) => <ExecutorCell execution={one} /> },
      {
        title: t('columns.attempt'),
        key: 'attempt',
        responsive: YIELDING,
        className: 'nowrap',
        render: (_, one) => <Attempt execution={one} />,
      },
      {
        title: <span className="visually-hidden">{t('columns.actions')}</span>,
        key: 'actions',
        align: 'right',
        fixed: 'end',
        render: (_, one) => <RowActions execution={one} />,
      },
    ],
    [t, longestFirst],
  );
}

export function CauseText({ cause }: { cause: string }) {
  const { t } = useTranslation('executions');
  return cause in CAUSES ? t(`cause.${cause as Cause}`) : cause;
}

function JobCell({ execution: one }: { execution: Execution }) {
  const { t } = useTranslation('executions');
  const name = one.job_desc ?? t('removedJob');
  const to = one.job_desc === null ? `/executions?job_id=${one.job_id}` : `/jobs/${one.job_id}`;
  return (
    <div className="flexing-cell">
      <Link to={to} className="cell-main cell-name" title={name}>
        {name}
      </Link>
      <div className="cell-sub cell-line" title={one.executor_handler}>
        <Link to={`/executions/${one.id}`} className="quiet" data-open>
          #{one.id}
        </Link>
        {one.executor_handler && (
          <>
            {' · '}
            <span className="mono">{one.executor_handler}</span>
          </>
        )}
      </div>
    </div>
  );
}

function ExecutorCell({ execution: one }: { execution: Execution }) {
  if (one.executor_address) {
    const to = `/executions?${new URLSearchParams({ executor: one.executor_address })}`;
    return (
      <div className="cell-line executor-cell">
        <Link to={to} className="mono quiet" title={one.executor_address}>
          {one.executor_address.replace(/^https?:\/\//, '')}
        </Link>
      </div>
    );
  }
  return <div className="muted mono cell-line executor-cell">{one.queue ?? '–'}</div>;
}

function Attempt({ execution: one }: { execution: Execution }) {
  const { t } = useTranslation('executions');
  return (
    <>
      <span className={one.attempt > 1 ? undefined : 'muted'}>{one.attempt}</span>
      {one.shard_total > 1 && (
        <div className="cell-sub">{t('shard', { index: one.shard_index, total: one.shard_total })}</div>
      )}
    </>
  );
}
