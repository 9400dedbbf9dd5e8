import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { killOne, retryOne } from '@/api/executions';
import type { Execution } from '@/api/types';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { PermissionGate } from '@/parts/PermissionGate';
import { canRetry } from '@/status/again';
import { TERMINAL } from '@/status/statuses';

/** What can be done to one execution: what has ended is done again if its job is still there, what has not is ended. */
export function RowActions({ execution: one }: { execution: Execution }) {
  const { t } = useTranslation('executions');
  const queries = useQueryClient();
  const job = one.job_desc ?? t('removedJob');
  const look = () => queries.invalidateQueries({ queryKey: ['executions'] });
  return (
    <PermissionGate needs="operate" group={one.job_group}>
      {canRetry(one) && (
        <ConfirmAction
          key="retry" // or a dialog that asks for the one would turn into one that asks for the other
          label={t('retry.label')}
          title={t('retry.title', { id: one.id })}
          confirm={t('retry.label')}
          button={{ size: 'small', type: 'text' }}
          act={async () => {
            const id = await retryOne(one.id);
            await look();
            return t('retry.done', { id });
          }}
        >
          <p>{t('retry.text', { job })}</p>
        </ConfirmAction>
      )}
      {!TERMINAL[one.status] && (
        <ConfirmAction
          key="kill"
          label={t('kill.label')}
          title={t('kill.title', { id: one.id })}
          confirm={t('kill.label')}
          danger
          button={{ size: 'small', type: 'text' }}
          act={async () => {
            await killOne(one.id);
            await look();
            return t('kill.done', { id: one.id });
          }}
        >
          <p>{t('kill.text', { job })}</p>
        </ConfirmAction>
      )}
    </PermissionGate>
  );
}
