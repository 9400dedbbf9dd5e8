// The way of an execution in five stops, and what is known of each: due, dispatched, queued, running, callback.

import type { Execution } from '@/api/types';
import { took as ranFor } from '@/parts/job/runs';
import { TERMINAL } from '@/status/statuses';

export const STOPS = ['due', 'dispatched', 'queued', 'running', 'callback'] as const;
export type StopName = (typeof STOPS)[number];

export interface Stop {
  name: StopName;
  state: 'done' | 'now' | 'failed' | 'ahead' | 'skipped';
  at: string | null;
  /** How long it took from the stop before, in ms, where both ends are known. */
  took: number | null;
}

type Shown = Pick<
  Execution,
  | 'status'
  | 'phase'
  | 'schedule_time'
  | 'trigger_time'
  | 'dispatch_time'
  | 'start_time'
  | 'handle_time'
  | 'duration_ms'
  | 'executor_address'
  | 'reason_code'
>;

/** Which stop an open execution has reached. */
const REACHED: Record<string, number> = {
  opened: 0,
  dispatching: 1,
  unknown: 1,
  offered: 1,
  dispatched: 2,
  queued: 2,
  running: 3,
  reporting: 4,
};

export function stopsOf(one: Shown): Stop[] {
  const over = TERMINAL[one.status];
  const reached = over ? lastReached(one) : (REACHED[one.phase] ?? 0);
  const times: Record<StopName, string | null> = {
    due: one.schedule_time ?? one.trigger_time,
    // A result may be faster than the executor's yes; it had the execution when it began at the latest.
    dispatched: one.status === 'trigger_failed' ? one.handle_time : (one.dispatch_time ?? one.start_time),
    queued: null,
    running: one.start_time,
    callback: one.status === 'trigger_failed' ? null : one.handle_time,
  };
  const took: Record<StopName, number | null> = {
    due: null,
    dispatched: between(one.trigger_time, one.dispatch_time),
    queued: between(one.dispatch_time ?? one.trigger_time, one.start_time),
    running: ranFor(one),
    callback: null,
  };
  return STOPS.map((name, index) => ({
    name,
    at: times[name],
    took: took[name],
    state: stateAt(index, reached, one, over),
  }));
}

function stateAt(index: number, reached: number, one: Shown, over: boolean): Stop['state'] {
  if (!over) return index < reached ? 'done' : index === reached ? 'now' : 'ahead';
  if (index === failedAt(one)) return 'failed';
  const reported = one.status !== 'trigger_failed' && index === 4;
  return index <= reached || reported ? 'done' : 'skipped';
}

/** Why an execution ended though nobody reported how. */
const UNREPORTED: readonly (string | null)[] = ['result_lost', 'time_limit'];

/** Where it went wrong: with a report that came it was the handler that failed, and not the report. */
function failedAt(one: Shown): number | null {
  if (one.status === 'success') return null;
  if (one.status === 'trigger_failed') return 1;
  return one.start_time !== null && !UNREPORTED.includes(one.reason_code) ? 3 : 4;
}

/** How far one came that has ended: what never started was at most waiting on its executor. */
function lastReached(one: Shown): number {
  if (one.status === 'trigger_failed') return 1;
  if (one.start_time !== null) return 3;
  return one.executor_address === null ? 0 : 2;
}

function between(from: string | null, to: string | null): number | null {
  return from === null || to === null ? null : Math.max(0, Date.parse(to) - Date.parse(from));
}

/** An open execution with what its log tells: an executor says that it took it, and the first line when it began. */
export function asBegun<One extends Shown>(one: One, firstLine: string | null): One {
  const taken = one.phase === 'dispatched' || one.phase === 'queued';
  if (!taken || TERMINAL[one.status] || firstLine === null) return one;
  return { ...one, phase: 'running', start_time: one.start_time ?? firstLine };
}

/** Where a span lies in a longer one, in per cent; never too narrow to be seen. */
export function placed(from: number, to: number, begin: number, end: number): { left: number; width: number } {
  const length = Math.max(1, end - begin);
  const left = Math.min(99, Math.max(0, ((from - begin) / length) * 100));
  return { left, width: Math.max(1, Math.min(100 - left, ((to - from) / length) * 100)) };
}
