import { useInfiniteQuery } from '@tanstack/react-query';
import type { TableColumnsType } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { api, got } from '@/api/client';
import type { Job, JobChange } from '@/api/types';
import { EmptyState } from '@/parts/EmptyState';
import { ChangesTable } from '@/parts/job/ChangesTable';
import { fieldChanges } from '@/parts/job/changes';
import { PermissionGate } from '@/parts/PermissionGate';
import { DataTable } from '@/parts/table/DataTable';
import { Instant } from '@/parts/time/Instant';

const ACTIONS = ['job.create', 'job.update', 'job.start', 'job.stop', 'script.save'] as const;
const WORDS: Record<(typeof ACTIONS)[number], 'create' | 'update' | 'start' | 'stop' | 'script'> = {
  'job.create': 'create',
  'job.update': 'update',
  'job.start': 'start',
  'job.stop': 'stop',
  'script.save': 'script',
};

/** Who changed the definition, when, and what of it; as far back as the audit is kept. */
export function History({ job: { id: jobId, version, job_group: group } }: { job: Job }) {
  const { t } = useTranslation('jobs');
  const list = useInfiniteQuery({
    queryKey: ['jobs', 'history', jobId, version],
    queryFn: ({ pageParam }) =>
      got(
        api.GET('/api/v1/jobs/{job_id}/history', {
          params: { path: { job_id: jobId }, query: { limit: 10, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
  const columns: TableColumnsType<JobChange> = [
    { title: t('history.at'), key: 'at', className: 'nowrap', render: (_, one) => <Instant at={one.at} /> },
    { title: t('history.actor'), key: 'actor', render: (_, one) => one.actor },
    { title: t('history.what'), key: 'what', render: (_, one) => <What change={one} jobId={jobId} /> },
    {
      title: <span className="visually-hidden">{t('history.restore')}</span>,
      key: 'restore',
      align: 'right',
      render: (_, one) =>
        fieldChanges(one).length > 0 && (
          <PermissionGate needs="edit" group={group}>
            <Link to={`/jobs/${jobId}/edit?before=${one.seq}`} title={t('history.restoreHint')}>
              {t('history.restore')}
            </Link>
          </PermissionGate>
        ),
    },
  ];
  return (
    <section>
      <header className="recent-head">
        <h2>{t('history.title')}</h2>
      </header>
      <DataTable<JobChange>
        label={t('history.title')}
        list={list}
        columns={columns}
        rowKey="seq"
        expandable={{
          rowExpandable: (one) => fieldChanges(one).length > 0,
          expandedRowRender: (one) => (
            <ChangesTable
              label={t('history.title')}
              heads={[t('history.before'), t('history.after')]}
              rows={fieldChanges(one).map(({ field, before, after }) => ({ field, values: [before, after] }))}
            />
          ),
        }}
        empty={<EmptyState title={t('history.empty')}>{t('history.hint')}</EmptyState>}
      />
    </section>
  );
}

function What({ change, jobId }: { change: JobChange; jobId: number }) {
  const { t } = useTranslation(['jobs', 'jobEditor']);
  const known = ACTIONS.find((one) => one === change.action);
  const word = known ? t(`history.actions.${WORDS[known]}`) : change.action;
  const fields = fieldChanges(change).map(({ field }) => t(`jobEditor:fields.${field}`));
  if (known === 'script.save') return <Link to={`/scripts/${jobId}`}>{word}</Link>;
  return (
    <>
      {word}
      {fields.length > 0 && <div className="cell-sub">{fields.join(', ')}</div>}
    </>
  );
}
