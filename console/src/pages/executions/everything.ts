// Everything that matches, done with by the server part by part: how far it is can be shown, it can be stopped between
// two parts, and what came of it is one answer.

import type { ManyDone } from '@/api/types';

export interface Sum {
  done: number;
  /** Found, and could not be changed. */
  skipped: number;
  /** How many more are known to match. */
  left: number;
  /** Whether it ended before everything was looked at. */
  stopped: boolean;
}

export type Ask = (after: number | null) => Promise<ManyDone>;

/** Asks until nothing is left or somebody wants it to stop; `tell` hears how far it is after each answer. */
export async function doToAll(ask: Ask, tell: (sum: Sum) => void, isStopped: () => boolean): Promise<Sum> {
  const sum: Sum = { done: 0, skipped: 0, left: 0, stopped: false };
  let part: ManyDone | null = null;
  do {
    part = await ask(part?.next_after ?? null);
    sum.done += part.done;
    sum.skipped += part.skipped;
    sum.left = part.left;
    sum.stopped = isStopped() && isMore(part);
    tell({ ...sum });
  } while (isMore(part) && !sum.stopped);
  return sum;
}

/** What says where to go on has more to look at; what does not has it as long as it gets on. */
function isMore(part: ManyDone): boolean {
  return part.next_after !== null || (part.left > 0 && part.done > 0);
}

/** The share that is done with, of 100. */
export function percent({ done, skipped, left }: Sum): number {
  const total = done + skipped + left;
  return total === 0 ? 100 : Math.floor(((done + skipped) * 100) / total);
}

/**
 * The end of the span that is done with: what is opened by this very deed and fails again must not be found by its next
 * part. An end that people chose stays, unless it is still to come.
 */
export function endOf(until: string | undefined, now: number): string {
  const isToCome = until === undefined || (/^\d{4}-/.test(until) && Date.parse(until) > now); // else an age
  return isToCome ? new Date(now).toISOString() : until;
}
