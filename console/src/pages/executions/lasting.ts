// Since when an execution has been going on, as far as a list knows it without asking its executor.

import type { Execution } from '@/api/types';
import { TERMINAL } from '@/status/statuses';

type Shown = Pick<Execution, 'status' | 'phase' | 'queue_position' | 'schedule_time' | 'dispatch_time' | 'start_time'>;

/**
 * Since its start, where that is known; until then since its executor took it, but not before its time, for it may have
 * been sent ahead of it. One that waits there is known not to have begun.
 */
export function lastsSince(one: Shown, now: number): string | null {
  if (one.start_time !== null || TERMINAL[one.status]) return one.start_time;
  if ((one.phase !== 'dispatched' && one.phase !== 'running') || one.dispatch_time === null) return null;
  if (one.phase === 'dispatched' && (one.queue_position ?? null) !== null) return null;
  const due = one.schedule_time ?? one.dispatch_time;
  const since = Date.parse(due) > Date.parse(one.dispatch_time) ? due : one.dispatch_time;
  return Date.parse(since) > now ? null : since;
}
