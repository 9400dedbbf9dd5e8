import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import type { Job } from '@/api/types';
import { FireList } from '@/parts/job/FireList';
import { useScheduleWords } from '@/parts/job/ScheduleText';
import { Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';

/** The next ten fires, also of a job that is stopped: then as they would be. */
export function NextFires({ job }: { job: Job }) {
  const { t } = useTranslation('jobs');
  const words = useScheduleWords()(job);
  const next = useQuery({
    queryKey: ['executions', 'next', job.id, job.version],
    meta: { alsoToldBy: ['jobs'] },
    queryFn: () =>
      got(api.GET('/api/v1/jobs/{job_id}/next', { params: { path: { job_id: job.id }, query: { n: 10 } } })),
    enabled: job.schedule_type !== 'NONE',
  });
  return (
    <Panel title={t('fires.title')} flush>
      <p className="panel-line">
        {words}
        {job.schedule_type !== 'NONE' && (
          <span className="cell-sub">
            <br />
            <span className="mono">{job.schedule_conf}</span> · {job.timezone}
          </span>
        )}
      </p>
      {job.schedule_type !== 'NONE' && job.trigger_status !== 1 && (
        <p className="panel-line muted">{t('fires.ifStarted')}</p>
      )}
      {next.isError && <ProblemNotice error={next.error} />}
      {next.data && <FireList fires={next.data.items} zone={next.data.timezone} />}
      {next.isLoading && <Skeleton active title={false} className="panel-body" />}
    </Panel>
  );
}
