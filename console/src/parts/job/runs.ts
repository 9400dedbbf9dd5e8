// The last executions of a job as bars: how high each is, how long it took, and what there is to say about all of them.

import type { JobRun, Status } from '@/api/types';

/** How long a run took, in ms; null while it has not ended or when it never began. */
export function took(run: Pick<JobRun, 'start_time' | 'handle_time'>): number | null {
  if (!run.start_time || !run.handle_time) return null;
  return Math.max(0, Date.parse(run.handle_time) - Date.parse(run.start_time));
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
