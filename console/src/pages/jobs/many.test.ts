import { describe, expect, it } from 'vitest';
import { Problem, Unreachable } from '@/api/problem';
import { doToEach } from '@/pages/jobs/many';

const JOBS = [
  { id: 1, name: 'one' },
  { id: 2, name: 'two' },
  { id: 3, name: 'three' },
];

function refusal(status: number): Problem {
  return new Problem({ type: 'urn:orth:problem:conflict', title: 'Conflict', status, detail: 'It has no schedule.' });
}

describe('what is done to several jobs', () => {
  it('is done to all but those for which it is refused', async () => {
    const seen: number[] = [];
    const outcome = await doToEach(JOBS, async (id) => {
      seen.push(id);
      if (id === 2) throw refusal(409);
    });
    expect(seen).toEqual([1, 2, 3]);
    expect(outcome).toEqual({ done: 2, refused: [{ name: 'two', reason: 'It has no schedule.' }] });
  });

  it('stops when nobody answers or the session is over', async () => {
    for (const reason of [new Unreachable(), refusal(401)]) {
      const seen: number[] = [];
      const doing = doToEach(JOBS, async (id) => {
        seen.push(id);
        throw reason;
      });
      await expect(doing).rejects.toBe(reason);
      expect(seen).toEqual([1]);
    }
  });
});
