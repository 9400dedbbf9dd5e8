// How a log stands when no more of it comes: what is shown under it, or in its place.

import type { components } from '@/api/schema';
import type { Execution } from '@/api/types';

export type LogPlace = components['schemas']['LogPlace'];

export type Ending =
  | { kind: 'finished' }
  | { kind: 'archived' | 'archivedPart'; address: string }
  | { kind: 'nobody' }
  | { kind: 'expired'; at: string }
  | { kind: 'notArchived'; address: string; seen: string | null }
  | { kind: 'empty' };

/** Whether surely no executor had it: one may have been chosen, which refused it or was never reached. */
export function nobodyHad({ status, reason_code }: Pick<Execution, 'status' | 'reason_code'>): boolean {
  return status === 'trigger_failed' && reason_code !== 'never_resolved';
}

/** Without lines the question is why; with lines, where they are from. */
export function endingOf(place: LogPlace, lines: number, now: number): Ending {
  const address = place.executor_address;
  if (lines > 0) {
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
