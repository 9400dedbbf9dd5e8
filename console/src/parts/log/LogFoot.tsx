import { useQuery } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { usePreference } from '@/app/preferences';
import { useLive } from '@/live/LiveProvider';
import { EmptyState } from '@/parts/EmptyState';
import { type Ending, endingOf, type Fate, footOf, saidBesides, stateOf } from '@/parts/log/ending';
import type { Log } from '@/parts/log/Log';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { fullInstant } from '@/parts/time/format';
import { useDisplayZone } from '@/parts/time/Instant';
import { useNow } from '@/parts/time/useNow';

function usePlace(log: Log, wanted: boolean) {
  return useQuery({
    queryKey: ['executions', 'log-place', log.id],
    queryFn: () =>
      got(api.GET('/api/v1/executions/{execution_id}/log/place', { params: { path: { execution_id: log.id } } })),
    enabled: wanted,
  }).data;
}

interface FootProps {
  log: Log;
  fate: Fate;
  /** A line that the address leads to and that is not there. */
  beyond: number | null;
  unseen: number;
  onEnd: () => void;
}

/** Whether more comes, and if not, how it ended. */
export function LogFoot({ log, fate, beyond, unseen, onEnd }: FootProps) {
  const { t } = useTranslation('log');
  const { paused } = useLive();
  const now = useNow();
  const { kind } = log.stream.state;
  const place = usePlace(log, kind === 'over');
  const said = useEndingText();
  const ending = kind === 'over' ? footOf(place, fate, log.book.last, now) : null;
  const state = fate === 'unhad' ? 'finished' : stateOf(kind, paused, log.state);
  return (
    <footer className="log-foot">
      <span className={`log-state log-state-${state}`}>
        <span className="live-dot" aria-hidden="true" />
        {ending ? said(ending) : t(`state.${state}`)}
      </span>
      {log.state.trouble && <span className="log-trouble">{log.state.trouble}</span>}
      {beyond !== null && (
        <span className="log-trouble" role="status">
          {t('noLine', { line: beyond, last: log.book.last })}
        </span>
      )}
      {unseen > 0 && (
        <Button size="small" type="link" onClick={onEnd}>
          {t('unseen', { count: unseen })}
        </Button>
      )}
      {state !== 'loading' && <span className="log-count">{t('count', { count: log.book.last })}</span>}
    </footer>
  );
}

/** What stands where lines would, when there are none. */
export function NoLines({ log, fate, error }: { log: Log; fate: Fate; error: unknown }) {
  const { t } = useTranslation('log');
  const now = useNow();
  const { state } = log.stream;
  const place = usePlace(log, true);
  const said = useEndingText();
  const over = state.kind === 'over' || !!error;
  if (fate === 'unhad') return <EmptyState title={said({ kind: 'nobody' })} />;
  if (!over) return <EmptyState title={t('waiting')}>{t('waitingHint')}</EmptyState>;
  if (!place) return error ? <ProblemNotice error={error} retry={() => void log.open()} /> : null;
  const note = state.kind === 'over' ? state.note : '';
  const ending = endingOf(place, fate, 0, now, note);
  return (
    <div>
      <EmptyState
        title={said(ending)}
        {...(!place.archiving && ending.kind === 'notArchived' && { snippet: '[logs]\narchive = "store"' })}
      >
        {saidBesides(note) || (ending.kind === 'notArchived' && !place.archiving ? t('archiveHint') : null)}
      </EmptyState>
      {!!error && <ProblemNotice error={error} retry={() => void log.open()} />}
    </div>
  );
}

function useEndingText(): (ending: Ending) => string {
  const { t } = useTranslation('log');
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  return (ending) => {
    switch (ending.kind) {
      case 'lost':
      case 'missing':
      case 'archived':
      case 'archivedPart':
        return t(`ending.${ending.kind}`, { address: ending.address });
      case 'notArchived':
        return ending.seen
          ? t('ending.notArchivedSeen', {
              address: ending.address,
              at: fullInstant(Date.parse(ending.seen), language, zone),
            })
          : t('ending.notArchived', { address: ending.address });
      case 'expired':
        return t('ending.expired', { at: fullInstant(Date.parse(ending.at), language, zone) });
      default:
        return t(`ending.${ending.kind}`);
    }
  };
}
