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

/** What an answer about several says: those it was done to, and why not to the others. */
export interface Answer {
  job_ids: number[];
  refused: { id: number; detail: string; code: string | null; facts: Record<string, string | number> | null }[];
}

/** So many go into one request. */
const TOGETHER = 200;

/**
 * Done by the server to several at once, which may depend on each other. One that needs another of a later request is
 * refused at first: those are asked for again as long as there are fewer.
 */
export async function doTogether(those: readonly Named[], ask: (ids: number[]) => Promise<Answer>): Promise<Outcome> {
  const outcome: Outcome = { done: [], refused: [], left: [], stopped: null };
  let open = [...those];
  let before: number;
  do {
    before = open.length;
    outcome.refused = [];
    for (let from = 0; from < open.length; from += TOGETHER) {
      const some = open.slice(from, from + TOGETHER);
      try {
        const { job_ids, refused } = await ask(some.map(({ id }) => id));
        outcome.done.push(...some.filter(({ id }) => job_ids.includes(id)));
        for (const one of some.filter(({ id }) => !job_ids.includes(id))) {
          outcome.refused.push({ ...one, why: refusalOf(refused.find(({ id }) => id === one.id) ?? notThere(one)) });
        }
      } catch (reason) {
        return { ...outcome, left: open.slice(from), stopped: reason };
      }
    }
    open = outcome.refused.map(({ id, name }) => ({ id, name }));
  } while (open.length > 0 && open.length < before && before > TOGETHER);
  return outcome;
}

/** Of what an answer says nothing: somebody else was faster. */
function notThere({ id }: Named): Omit<Answer['refused'][number], 'id'> {
  return { detail: `There is no job ${id}.`, code: 'not_found', facts: { what: 'job', key: id } };
}

function refusalOf({ detail, code, facts }: Omit<Answer['refused'][number], 'id'>): Problem {
  return new Problem({ type: 'urn:orth:problem:conflict', title: detail, status: 409, detail, code, facts });
}

/** Of this one; with anything else the others would meet the same. */
function isRefusal(reason: unknown): reason is Problem {
  return reason instanceof Problem && reason.status < 500 && reason.status !== 401 && reason.status !== 429;
}

function fresh(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join('-');
}
