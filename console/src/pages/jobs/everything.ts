// Everything that matches, done with by the server part by part: how far it is can be shown, and what came of it is one
// answer.

import type { ManyJobsDone } from '@/api/types';

export interface Sum {
  done: number;
  refused: ManyJobsDone['refused'];
  /** How many were meant, as far as they are counted. */
  total: number;
}

export type Ask = (cursor: string | null) => Promise<ManyJobsDone>;

/** Asks until nothing is left; `tell` hears how far it is after each answer. */
export async function doToAll(ask: Ask, tell: (sum: Sum) => void): Promise<Sum> {
  const sum: Sum = { done: 0, refused: [], total: 0 };
  let cursor: string | null = null;
  do {
    const part: ManyJobsDone = await ask(cursor);
    sum.done += part.done;
    sum.refused = [...sum.refused, ...part.refused];
    sum.total = sum.done + sum.refused.length + part.left;
    cursor = part.next_cursor;
    tell({ ...sum });
  } while (cursor !== null);
  return sum;
}

/** The share that is done with, of 100. */
export function percent({ done, refused, total }: Sum): number {
  return total === 0 ? 100 : Math.floor(((done + refused.length) * 100) / total);
}
