// How a log stands when no more of it comes: what is shown under it, or in its place.

import type { components } from '@/api/schema';
import type { Execution } from '@/api/types';
import type { StreamState } from '@/parts/log/LogStream';
import { TERMINAL } from '@/status/statuses';

export type LogPlace = components['schemas']['LogPlace'];

/** What became of the execution whose log it is: `unhad` by any executor, `lost` with the one that had it, `unbegun` as far
 * as anybody said. */
export type Fate = 'open' | 'ended' | 'unhad' | 'unbegun' | 'lost';

export type Ending =
  | { kind: 'finished' | 'silent' }
  | { kind: 'lost'; address: string }
  | { kind: 'archived' | 'archivedPart'; address: string }
  | { kind: 'nobody' | 'unbegun' }
  | { kind: 'missing'; address: string }
  | { kind: 'expired'; at: string }
  | { kind: 'notArchived'; address: string; seen: string | null }
  | { kind: 'empty' };

type Told = Pick<Execution, 'status' | 'reason_code' | 'start_time'>;

export function fateOf({ status, reason_code, start_time }: Told): Fate {
  if (!TERMINAL[status]) return 'open';
  if (reason_code === 'result_lost') return 'lost';
  // Surely no executor had it: one may have been chosen, which refused it or was never reached.
  if (status === 'trigger_failed') return reason_code === 'never_resolved' ? 'ended' : 'unhad';
  return start_time === null ? 'unbegun' : 'ended';
}

/** How an executor of ours says that it has no log of an execution. */
const NO_LOG = /^There is no log of execution \d+ here: /;

/** Without lines the question is why; with lines, whether these are all and where they are from. `note`: the executor's word. */
export function endingOf(place: LogPlace, fate: Fate, lines: number, now: number, note = ''): Ending {
  const address = place.executor_address;
  if (lines > 0) {
    if (fate === 'lost' && address !== null) return { kind: 'lost', address };
    const gone = place.executor_seen === null && address !== null;
    if (!gone || place.archived === 'no') return { kind: 'finished' };
    return { kind: place.archived === 'whole' ? 'archived' : 'archivedPart', address };
  }
  if (address === null) return { kind: 'nobody' };
  if (fate === 'unbegun' && place.executor_seen !== null) return { kind: 'unbegun' };
  if (place.kept_until !== null && Date.parse(place.kept_until) <= now)
    return { kind: 'expired', at: place.kept_until };
  if (place.archived !== 'no') return { kind: 'empty' };
  if (NO_LOG.test(note)) return { kind: 'missing', address };
  return { kind: 'notArchived', address, seen: place.executor_seen };
}

/** What is said under a log of which no more comes. Without lines the rest is said in their place. */
export function footOf(place: LogPlace | undefined, fate: Fate, lines: number, now: number): Ending | null {
  if (fate === 'open') return { kind: 'silent' };
  return place && lines > 0 ? endingOf(place, fate, lines, now) : null;
}

/** What the executor said of a log without lines, where the ending does not say it already. */
export function saidBesides(note: string): string {
  return NO_LOG.test(note) ? '' : note;
}

/** What the foot says of the reading itself. Until the end of the log was read once, nothing is known of it. */
export function stateOf(kind: StreamState['kind'], paused: boolean, log: { opened: boolean; error: unknown }) {
  if (kind === 'over') return 'finished';
  if (!log.opened) return log.error ? 'unread' : 'loading';
  return paused || kind === 'resting' ? 'paused' : kind;
}
