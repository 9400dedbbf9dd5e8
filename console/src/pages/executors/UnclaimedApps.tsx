import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Unclaimed } from '@/api/types';
import { adopt } from '@/pages/executors/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { Panel } from '@/parts/Page';
import { PermissionGate } from '@/parts/PermissionGate';
import { useKnownProblems } from '@/parts/ProblemNotice';
import { Ago } from '@/parts/time/Ago';

/** App names that executors came with and no group has: nobody can give them work. */
export function UnclaimedApps({ items }: { items: Unclaimed[] }) {
  const { t } = useTranslation('executors');
  const known = useKnownProblems();
  if (items.length === 0) return null;
  return (
    <Panel title={t('unclaimed.title')} flush>
      <ul className="unclaimed">
        {items.map((one) => (
          <li key={one.app_name}>
            <span>
              <span className="mono cell-main">{one.app_name}</span>{' '}
              <span className="muted">{t('unclaimed.count', { count: one.executors })}</span>{' '}
              <span className="muted">
                · <Ago at={one.last_beat} />
              </span>
              {one.trouble && <div className="cell-sub">{known(one.code, one.facts).is ?? one.trouble}</div>}
            </span>
            {one.adoptable && <Adopt appName={one.app_name} />}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Adopt({ appName }: { appName: string }) {
  const { t } = useTranslation('executors');
  const queries = useQueryClient();
  return (
    <PermissionGate needs="administer">
      <ConfirmAction
        label={t('adopt.label')}
        title={t('adopt.title', { app: appName })}
        confirm={t('adopt.label')}
        button={{ size: 'small', type: 'primary' }}
        act={async () => {
          await adopt(appName);
          await Promise.all(['groups', 'executors'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
          return t('adopt.done', { app: appName });
        }}
      >
        <p>{t('adopt.text', { app: appName })}</p>
      </ConfirmAction>
    </PermissionGate>
  );
}
