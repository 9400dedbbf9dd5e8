import { useTranslation } from 'react-i18next';
import type { Execution } from '@/api/types';
import { Duration } from '@/parts/time/Duration';
import { TERMINAL } from '@/status/statuses';

const KNOWN = ['opened', 'dispatching', 'unknown', 'offered', 'dispatched', 'queued', 'running', 'reporting'] as const;
type Known = (typeof KNOWN)[number];

/** What an open execution is doing, in small beside its tag: pending covers waiting and running. */
export function PhaseText({ execution }: { execution: Execution }) {
  const { t } = useTranslation('status');
  if (TERMINAL[execution.status]) return null;
  const phase = execution.phase as Known;
  const position = execution.queue_position ?? null;
  const waits = phase === 'dispatched' && position !== null; // its log may tell meanwhile that it runs
  return (
    <span className="phase-text">
      {waits ? t('waitsItsTurn', { position }) : KNOWN.includes(phase) ? t(`phase.${phase}`) : execution.phase}
      {phase === 'running' && execution.start_time && (
        <>
          {' '}
          <Duration from={execution.start_time} to={null} />
        </>
      )}
    </span>
  );
}
