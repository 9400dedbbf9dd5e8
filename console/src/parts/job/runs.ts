// The last executions of a job as bars: how high each is, how long it took, and what there is to say about all of them.

import type { JobRun, Status } from '@/api/types';

export type Ran = Pick<JobRun, 'start_time' | 'handle_time' | 'duration_ms'>;

/** How long a run took, in ms, as its executor measured where it did; null while it has not ended or when it never
 * began. */
export function took({ start_time, handle_time, duration_ms }: Ran): number | null {
  if (!handle_time) return null;
  if (typeof duration_ms === 'number') return duration_ms; // an older server says nothing of it
  return start_time ? Math.max(0, Date.parse(handle_time) - Date.parse(start_time)) : null;
}

/** When a run ended, in ms: its result may have been written down long after. Null while it is open. */
export function endedAt(run: Ran): number | null {
  if (!run.handle_time) return null;
  const ran = took(run);
  return run.start_time && ran !== null ? Date.parse(run.start_time) + ran : Date.parse(run.handle_time);
}

/** Heights from `lowest` to 1. By the root, so that one long run does not flatten all others. */
export function heights(runs: readonly JobRun[], lowest: number): number[] {
  const times = runs.map((run) => took(run) ?? 0);
  const longest = Math.max(...times, 1);
  return times.map((time) => lowest + (1 - lowest) * Math.sqrt(time / longest));
}

export function counted(runs: readonly JobRun[]): Partial<Record<Status, number>> {
  const found: Partial<Record<Status, number>> = {};
  for (const { status } of runs) found[status] = (found[status] ?? 0) + 1;
  return found;
}
