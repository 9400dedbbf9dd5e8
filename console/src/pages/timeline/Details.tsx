import { useTranslation } from 'react-i18next';
import type { Bar, Fire } from '@/pages/timeline/model';
import { Ago } from '@/parts/time/Ago';
import { RanFor } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { StatusLabel } from '@/status/StatusTag';

/** What the pointer is on, and where in the plot that is. */
export type Pointed = { x: number; y: number } & ({ kind: 'bar'; bar: Bar } | { kind: 'fire'; fire: Fire });

const WIDE = 280;

/** Beside what is pointed at: which execution, how it ended, when and how long. */
export function Details({ pointed, width }: { pointed: Pointed; width: number }) {
  const left = Math.max(0, Math.min(width - WIDE, pointed.x - WIDE / 2));
  return (
    <div className="timeline-details" style={{ left, top: pointed.y + 8, width: WIDE }} role="tooltip">
      {pointed.kind === 'bar' ? <OfBar bar={pointed.bar} /> : <OfFire fire={pointed.fire} />}
    </div>
  );
}

function OfBar({ bar: { execution: one } }: { bar: Bar }) {
  const { t } = useTranslation('timeline');
  return (
    <>
      <strong>{one.job_desc ?? t('removedJob')}</strong>
      <div>
        <StatusLabel
          status={one.status}
          triggerCode={one.trigger_code}
          handleCode={one.handle_code}
          cancelled={one.cancelled}
        />{' '}
        <span className="muted">#{one.id}</span>
      </div>
      <div className="muted">
        <Instant at={one.start_time ?? one.trigger_time} /> · <RanFor run={one} />
      </div>
      {one.executor_address && <div className="muted mono">{one.executor_address.replace(/^https?:\/\//, '')}</div>}
    </>
  );
}

function OfFire({ fire }: { fire: Fire }) {
  const { t } = useTranslation('timeline');
  return (
    <>
      <strong>{fire.job.job_desc}</strong>
      <div className="muted">
        {t('toCome')}: <Instant at={new Date(fire.at).toISOString()} /> (<Ago at={fire.at} />)
      </div>
    </>
  );
}
