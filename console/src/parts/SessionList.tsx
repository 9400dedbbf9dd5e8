import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { components } from '@/api/schema';
import { browserOf } from '@/parts/browserOf';
import { Mark } from '@/parts/Mark';
import { Ago } from '@/parts/time/Ago';
import './parts.css';

export type SessionShown = components['schemas']['SessionShown'];

interface Props {
  sessions: SessionShown[];
  /** What can be done to one of them. */
  action?: (session: SessionShown) => ReactNode;
}

/** Where somebody is signed in: by what, from where, and when it was last used. */
export function SessionList({ sessions, action }: Props) {
  const { t } = useTranslation('roles');
  return (
    <ul className="session-list">
      {sessions.map((one) => (
        <li key={one.id}>
          <div>
            <span className="cell-main">{browserOf(one.agent) || t('session.unknown')}</span>{' '}
            {one.current && <Mark colour="green">{t('session.current')}</Mark>}
            <div className="cell-sub">
              {t(`session.way.${one.way}`)} · <span className="mono">{one.address}</span> · {t('session.seen')}{' '}
              <Ago at={one.seen_at} />
            </div>
          </div>
          {action?.(one)}
        </li>
      ))}
    </ul>
  );
}
