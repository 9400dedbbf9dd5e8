import { LeftOutlined, RightOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { App, Button, Tooltip } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { killOne, retryOne } from '@/api/executions';
import { jobQuery } from '@/api/jobs';
import type { ExecutionDetail, Job } from '@/api/types';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { RunDialog } from '@/parts/job/RunOnce';
import { PermissionGate } from '@/parts/PermissionGate';
import { useSaying } from '@/parts/ProblemNotice';
import { canRetry } from '@/status/again';
import { TERMINAL } from '@/status/statuses';

/** What can be done here; what opens a new execution leads to it. `stay`: where on its page one is. */
export function Actions({ execution: one, stay = '' }: { execution: ExecutionDetail; stay?: '' | '/log' }) {
  const { t } = useTranslation('execution');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const job = one.job_desc ?? t('removedJob');
  const look = () => queries.invalidateQueries({ queryKey: ['executions'] });
  async function opened(id: number | undefined): Promise<string> {
    await look();
    if (id === undefined) return t('opened');
    await navigate(`/executions/${id}${stay}`);
    return t('openedAs', { id });
  }
  return (
    <PermissionGate needs="operate" group={one.job_group}>
      {!TERMINAL[one.status] && (
        <ConfirmAction
          label={t('kill.label')}
          title={t('kill.title', { id: one.id })}
          confirm={t('kill.label')}
          danger
          act={async () => {
            await killOne(one.id);
            await look();
            return t('kill.done', { id: one.id });
          }}
        >
          <p>{t('kill.text', { job })}</p>
        </ConfirmAction>
      )}
      {canRetry(one) && (
        <ConfirmAction
          label={t('retry.label')}
          title={t('retry.title', { id: one.id })}
          confirm={t('retry.label')}
          button={{ type: one.status === 'success' ? 'default' : 'primary' }}
          act={async () => opened(await retryOne(one.id))}
        >
          <p>{t('retry.text', { job })}</p>
        </ConfirmAction>
      )}
      {one.job_desc !== null && <RunAgain execution={one} stay={stay} />}
    </PermissionGate>
  );
}

/** A new run of the job as it is now, with the parameter of this one or another: the dialog is that of *Run once*. */
function RunAgain({ execution: one, stay }: { execution: ExecutionDetail; stay: '' | '/log' }) {
  const { t } = useTranslation('execution');
  const queries = useQueryClient();
  const { message } = App.useApp();
  const say = useSaying();
  const [job, setJob] = useState<Job | null>(null);
  const [busy, setBusy] = useState(false);
  async function open() {
    setBusy(true);
    try {
      setJob(await queries.fetchQuery(jobQuery(one.job_id)));
    } catch (reason) {
      message.error(say(reason).title);
    } finally {
      setBusy(false);
    }
  }
  return (
    <>
      <Button loading={busy} onClick={() => void open()}>
        {t('run.label')}
      </Button>
      {job && (
        <RunDialog
          job={job}
          close={() => setJob(null)}
          again={{
            param: one.executor_param,
            title: t('run.title', { job: one.job_desc }),
            text: t('run.text'),
            stay,
          }}
        />
      )}
    </>
  );
}

interface NeighboursProps {
  previous: number | null | undefined;
  next: number | null | undefined;
  go: (id: number) => void;
}

/** The runs of the job before and after this one. */
export function Neighbours({ previous, next, go }: NeighboursProps) {
  const { t } = useTranslation('execution');
  return (
    <span className="neighbours">
      <Tooltip title={`${t('previous')} [`}>
        <Button
          icon={<LeftOutlined />}
          aria-label={t('previous')}
          disabled={!previous}
          onClick={() => previous && go(previous)}
        />
      </Tooltip>
      <Tooltip title={`${t('next')} ]`}>
        <Button icon={<RightOutlined />} aria-label={t('next')} disabled={!next} onClick={() => next && go(next)} />
      </Tooltip>
    </span>
  );
}
