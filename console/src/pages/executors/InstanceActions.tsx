import { useQueryClient } from '@tanstack/react-query';
import { App, Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import type { Executor } from '@/api/types';
import { drain, ping, remove } from '@/pages/executors/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { PermissionGate } from '@/parts/PermissionGate';
import { useKnownProblems, useSaying } from '@/parts/ProblemNotice';

interface Props {
  executor: Executor;
  /** The group it belongs to, if it has one. */
  group: number | undefined;
}

export function InstanceActions({ executor, group }: Props) {
  const { t } = useTranslation('executors');
  const queries = useQueryClient();
  const look = () => queries.invalidateQueries({ queryKey: ['executors'] });
  if (executor.state === 'removed') return null;
  return (
    <>
      {executor.queues.length === 0 && (
        <PermissionGate needs="operate" {...(group !== undefined && { group })}>
          <Ping executor={executor} look={look} />
          <Drain executor={executor} look={look} />
        </PermissionGate>
      )}
      <PermissionGate needs="administer">
        <ConfirmAction
          label={t('remove.label')}
          title={t('remove.title')}
          confirm={t('remove.label')}
          danger
          button={{ size: 'small', type: 'text' }}
          act={async () => {
            await remove(executor);
            await look();
            return t('remove.done', { address: executor.address });
          }}
        >
          <p>{t('remove.text', { address: executor.address, app: executor.app_name })}</p>
          <p className="muted">{t('remove.note')}</p>
        </ConfirmAction>
      </PermissionGate>
    </>
  );
}

function Drain({ executor, look }: { executor: Executor; look: () => Promise<void> }) {
  const { t } = useTranslation('executors');
  const { address } = executor;
  const doing = executor.drained_since === null ? 'drain' : 'resume';
  return (
    <ConfirmAction
      label={t(`draining.${doing}.label`)}
      title={t(`draining.${doing}.title`)}
      confirm={t(`draining.${doing}.label`)}
      button={{ size: 'small', type: 'text' }}
      act={async () => {
        await drain(executor, doing === 'drain');
        await look();
        return t(`draining.${doing}.done`, { address });
      }}
    >
      <p>{t(`draining.${doing}.text`, { address, app: executor.app_name })}</p>
      <p className="muted">{t(`draining.${doing}.note`)}</p>
    </ConfirmAction>
  );
}

interface PingProps {
  executor: Pick<Executor, 'app_name' | 'address'>;
  look?: () => Promise<void>;
}

export function Ping({ executor, look }: PingProps) {
  const { t } = useTranslation('executors');
  const { message } = App.useApp();
  const say = useSaying();
  const known = useKnownProblems();
  const [busy, setBusy] = useState(false);
  async function call() {
    setBusy(true);
    try {
      const { answered, node, took_ms, reason, code, facts } = await ping(executor);
      if (answered) message.success(t('ping.answered', { node, ms: took_ms }));
      else message.error(t('ping.silent', { node, reason: known(code, facts).is ?? reason }));
      await look?.();
    } catch (error) {
      message.error(error instanceof Problem ? say(error).title : t('ping.failed'));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button size="small" type="text" loading={busy} onClick={call}>
      {t('ping.label')}
    </Button>
  );
}
