import { CheckOutlined, CloseOutlined, LoadingOutlined, MinusOutlined } from '@ant-design/icons';
import { useTranslation } from 'react-i18next';
import type { Execution } from '@/api/types';
import { type Stop, stopsOf } from '@/pages/execution/phases';
import { Duration } from '@/parts/time/Duration';
import { duration } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';

const ICONS: Record<Stop['state'], React.ReactNode> = {
  done: <CheckOutlined />,
  now: <LoadingOutlined />,
  failed: <CloseOutlined />,
  ahead: null,
  skipped: <MinusOutlined />,
};

/** due → dispatched → queued → running → callback, with the times that are known. */
export function PhaseBar({ execution: one }: { execution: Execution }) {
  const { t } = useTranslation('execution');
  return (
    <ol className="phase-bar" aria-label={t('phases.label')}>
      {stopsOf(one).map((stop) => (
        <li key={stop.name} className={`phase-${stop.state}`} aria-current={stop.state === 'now' ? 'step' : undefined}>
          <span className="phase-dot" aria-hidden="true">
            {ICONS[stop.state]}
          </span>
          <span className="phase-name">{t(`phases.${stop.name}`)}</span>
          <span className="visually-hidden">{t(`phases.state.${stop.state}`)}</span>
          <span className="phase-time">
            {stop.at && <Instant at={stop.at} />}
            {stop.took !== null && <span className="phase-took">{duration(stop.took)}</span>}
            {stop.name === 'running' && stop.state === 'now' && (
              <span className="phase-took">
                <Duration from={one.start_time} to={null} />
              </span>
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}
