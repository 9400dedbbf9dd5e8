import { describe, expect, it } from 'vitest';
import { Problem, Unreachable } from '@/api/problem';
import { doToEach, Keys } from '@/parts/many';

const ONE = { id: 1, name: 'one' };
const TWO = { id: 2, name: 'two' };
const THREE = { id: 3, name: 'three' };

function refusal(status: number): Problem {
  return new Problem({ type: 'urn:orth:problem:conflict', title: 'Conflict', status, detail: 'It has no schedule.' });
}

describe('what is done to several', () => {
  it('is done to all but those for which it is refused', async () => {
    const seen: number[] = [];
    const act = async (id: number) => {
      seen.push(id);
      if (id === 2) throw refusal(409);
    };
    const outcome = await doToEach([ONE, TWO, THREE], act, new Keys());
    expect(seen).toEqual([1, 2, 3]);
    const refused = [{ ...TWO, why: refusal(409) }];
    expect(outcome).toEqual({ done: [ONE, THREE], refused, left: [], stopped: null });
  });

  it('stops when nobody answers or the session is over, and knows what is left', async () => {
    for (const reason of [new Unreachable(), refusal(401), refusal(429), refusal(502)]) {
      const seen: number[] = [];
      const act = async (id: number) => {
        seen.push(id);
        if (id === 2) throw reason;
      };
      const outcome = await doToEach([ONE, TWO, THREE], act, new Keys());
      expect(seen).toEqual([1, 2]);
      expect(outcome).toEqual({ done: [ONE], refused: [], left: [TWO, THREE], stopped: reason });
    }
  });

  it('is asked for under the same key until it is answered', async () => {
    const keys = new Keys();
    const sent: string[] = [];
    let answers = false;
    const act = async (_: number, key: string) => {
      sent.push(key);
      if (!answers) throw new Unreachable();
    };
    await doToEach([ONE], act, keys);
    answers = true;
    await doToEach([ONE], act, keys);
    await doToEach([ONE], act, keys);
    expect(sent[1]).toBe(sent[0]);
    expect(sent[2]).not.toBe(sent[0]);
  });
});
