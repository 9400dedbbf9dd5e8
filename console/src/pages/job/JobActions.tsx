import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { deleteJob, startJob, stopJob } from '@/api/jobs';
import type { Job } from '@/api/types';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { RunOnce } from '@/parts/job/RunOnce';
import { PermissionGate } from '@/parts/PermissionGate';

/** What can be done with a job; each names it first. */
export function JobActions({ job }: { job: Job }) {
  const { t } = useTranslation('jobs');
  const navigate = useNavigate();
  const queries = useQueryClient();
  const look = () => queries.invalidateQueries({ queryKey: ['executions'] });
  const on = job.trigger_status === 1;
  const name = { job: job.job_desc };
  return (
    <>
      <RunOnce job={job} button={{ type: 'primary' }} />
      <PermissionGate needs="operate" group={job.job_group}>
        {(on || job.schedule_type !== 'NONE') && (
          <ConfirmAction
            key={on ? 'stop' : 'start'}
            label={on ? t('stop.label') : t('start.label')}
            title={on ? t('stop.title', name) : t('start.title', name)}
            confirm={on ? t('stop.label') : t('start.label')}
            act={async () => {
              await (on ? stopJob(job.id) : startJob(job.id));
              await look();
              return on ? t('stop.done', name) : t('start.done', name);
            }}
          >
            <p>{on ? t('stop.text') : t('start.text')}</p>
          </ConfirmAction>
        )}
      </PermissionGate>
      <PermissionGate needs="edit" group={job.job_group}>
        <Button onClick={() => void navigate(`/jobs/${job.id}/edit`)}>{t('edit')}</Button>
        <Button onClick={() => void navigate(`/jobs/new?copy=${job.id}`)}>{t('copy')}</Button>
        <ConfirmAction
          label={t('delete.label')}
          title={t('delete.title', name)}
          confirm={t('delete.label')}
          danger
          act={async () => {
            await deleteJob(job.id);
            await navigate('/jobs');
            await look();
            return t('delete.done', name);
          }}
        >
          <p>{t('delete.text')}</p>
        </ConfirmAction>
      </PermissionGate>
    </>
  );
}
