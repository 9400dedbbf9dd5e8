// One thing done to several, one after the other: what is refused for one does not keep the others, and what came of
// each is known. Where no answer came, it may have been done: it is asked for again under the same key, as the same
// request, and so is not done twice.

import { Problem } from '@/api/problem';

export interface Named {
  id: number;
  name: string;
}

export type Act = (id: number, key: string) => Promise<unknown>;

export interface Outcome {
  done: Named[];
  refused: (Named & { why: Problem })[];
  /** Without an answer, or not tried because of that. */
  left: Named[];
  /** Why some are left: nobody answers, or the session is over. */
  stopped: unknown;
}

/** The keys of requests that have no answer yet. */
export class Keys {
  private readonly open = new Map<number, string>();

  of(id: number): string {
    const known = this.open.get(id) ?? fresh();
    this.open.set(id, known);
    return known;
  }

  answered(id: number): void {
    this.open.delete(id);
  }
}

export async function doToEach(those: readonly Named[], act: Act, keys: Keys): Promise<Outcome> {
  const outcome: Outcome = { done: [], refused: [], left: [], stopped: null };
  for (const [index, one] of those.entries()) {
    try {
      await act(one.id, keys.of(one.id));
      outcome.done.push(one);
    } catch (reason) {
      if (!isRefusal(reason)) return { ...outcome, left: those.slice(index), stopped: reason };
      outcome.refused.push({ ...one, why: reason });
    }
    keys.answered(one.id);
  }
  return outcome;
}

/** Of this one; with anything else the others would meet the same. */
function isRefusal(reason: unknown): reason is Problem {
  return reason instanceof Problem && reason.status < 500 && reason.status !== 401 && reason.status !== 429;
}

function fresh(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
