import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { ExecutorKey } from '@/api/types';
import { admit, revoke } from '@/pages/executors/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { Mark } from '@/parts/Mark';
import { Panel } from '@/parts/Page';
import { Ago } from '@/parts/time/Ago';

const COLOURS = { waiting: 'orange', admitted: 'green', revoked: 'gray' } as const;
const ORDER = ['waiting', 'admitted', 'revoked'];

/** Executors by their keys, those that wait first. Only administrators see them. */
export function ExecutorKeys({ items }: { items: ExecutorKey[] }) {
  const { t } = useTranslation('executors');
  if (items.length === 0) return null;
  const sorted = items.toSorted((one, other) => ORDER.indexOf(one.state) - ORDER.indexOf(other.state));
  return (
    <Panel title={t('keys.title')} flush>
      <ul className="unclaimed">
        {sorted.map((one) => (
          <li key={one.id}>
            <span>
              <Mark colour={COLOURS[one.state]}>{t(`keys.state.${one.state}`)}</Mark>{' '}
              <span className="mono cell-main">{one.address}</span> <span className="muted">{one.app_name}</span>
              <div className="cell-sub">
                {t('keys.from', { id: one.id, source: one.source })} ·{' '}
                <Ago at={new Date(one.last_seen ?? one.first_seen).toISOString()} />
              </div>
            </span>
            {one.state !== 'revoked' && (
              <span className="row-actions">
                {one.state === 'waiting' && <Decide one={one} deed="admit" />}
                <Decide one={one} deed="revoke" />
              </span>
            )}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Decide({ one, deed }: { one: ExecutorKey; deed: 'admit' | 'revoke' }) {
  const { t } = useTranslation('executors');
  const queries = useQueryClient();
  const facts = { address: one.address, app: one.app_name };
  return (
    <ConfirmAction
      label={t(`keys.${deed}.label`)}
      title={t(`keys.${deed}.title`)}
      confirm={t(`keys.${deed}.label`)}
      danger={deed === 'revoke'}
      button={{ size: 'small', type: deed === 'admit' ? 'primary' : 'text' }}
      act={async () => {
        await (deed === 'admit' ? admit(one) : revoke(one));
        await queries.invalidateQueries({ queryKey: ['executors'] });
        return t(`keys.${deed}.done`, facts);
      }}
    >
      <p>{t(`keys.${deed}.text`, facts)}</p>
    </ConfirmAction>
  );
}
