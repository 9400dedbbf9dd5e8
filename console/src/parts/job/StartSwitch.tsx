import { useQueryClient } from '@tanstack/react-query';
import { App, Switch } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { startJob, stopJob } from '@/api/jobs';
import { useMay } from '@/api/session';
import { useSaying } from '@/parts/ProblemNotice';

interface Props {
  job: { id: number; job_desc: string; job_group: number; schedule_type: string; trigger_status: number };
}

/** Whether a job fires by its schedule. One without a schedule has nothing to switch on. */
export function StartSwitch({ job }: Props) {
  const { t } = useTranslation('jobs');
  const may = useMay();
  const queries = useQueryClient();
  const { notification } = App.useApp();
  const say = useSaying();
  const [busy, setBusy] = useState(false);
  const on = job.trigger_status === 1;

  async function change(start: boolean) {
    setBusy(true);
    try {
      await (start ? startJob(job.id) : stopJob(job.id));
      await queries.invalidateQueries({ queryKey: ['executions'] });
    } catch (reason) {
      notification.error({ title: job.job_desc, description: say(reason).title });
    } finally {
      setBusy(false);
    }
  }

  if (job.schedule_type === 'NONE' && !on) return <span className="muted">–</span>;
  if (!may('operate', job.job_group)) return <span>{on ? t('on') : t('off')}</span>;
  return (
    <Switch
      size="small"
      checked={on}
      loading={busy}
      onChange={(start) => void change(start)}
      aria-label={t('switch', { job: job.job_desc })}
    />
  );
}
