// How a log stands when no more of it comes: what is shown under it, or in its place.

import type { components } from '@/api/schema';
import type { Execution } from '@/api/types';
import { TERMINAL } from '@/status/statuses';

export type LogPlace = components['schemas']['LogPlace'];

/** What became of the execution whose log it is: `unhad` by any executor, `lost` with the one that had it. */
export type Fate = 'open' | 'ended' | 'unhad' | 'lost';

export type Ending =
  | { kind: 'finished' | 'silent' }
  | { kind: 'lost'; address: string }
  | { kind: 'archived' | 'archivedPart'; address: string }
  | { kind: 'nobody' }
  | { kind: 'expired'; at: string }
  | { kind: 'notArchived'; address: string; seen: string | null }
  | { kind: 'empty' };

export function fateOf({ status, reason_code }: Pick<Execution, 'status' | 'reason_code'>): Fate {
  if (!TERMINAL[status]) return 'open';
  if (reason_code === 'result_lost') return 'lost';
  // Surely no executor had it: one may have been chosen, which refused it or was never reached.
  return status === 'trigger_failed' && reason_code !== 'never_resolved' ? 'unhad' : 'ended';
}

/** Without lines the question is why; with lines, whether these are all and where they are from. */
export function endingOf(place: LogPlace, fate: Fate, lines: number, now: number): Ending {
  const address = place.executor_address;
  if (lines > 0) {
    if (fate === 'lost' && address !== null) return { kind: 'lost', address };
    const gone = place.executor_seen === null && address !== null;
    if (!gone || place.archived === 'no') return { kind: 'finished' };
    return { kind: place.archived === 'whole' ? 'archived' : 'archivedPart', address };
  }
  if (address === null) return { kind: 'nobody' };
  if (place.kept_until !== null && Date.parse(place.kept_until) <= now)
    return { kind: 'expired', at: place.kept_until };
  if (place.archived !== 'no') return { kind: 'empty' };
  return { kind: 'notArchived', address, seen: place.executor_seen };
}

/** What is said under a log of which no more comes. Without lines the rest is said in their place. */
export function footOf(place: LogPlace | undefined, fate: Fate, lines: number, now: number): Ending | null {
  if (fate === 'open') return { kind: 'silent' };
  return place && lines > 0 ? endingOf(place, fate, lines, now) : null;
}
