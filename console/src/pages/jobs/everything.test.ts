import { describe, expect, it } from 'vitest';
import type { ManyJobsDone } from '@/api/types';
import { type Ask, doToAll, percent, type Sum } from '@/pages/jobs/everything';

const SEVEN = { id: 7, job_desc: 'seven', detail: 'no', code: null, facts: null };
const PARTS: Record<string, Partial<ManyJobsDone>> = {
  first: { done: 2, refused: [], left: 3, next_cursor: 'second' },
  second: { done: 1, refused: [SEVEN], left: 1, next_cursor: 'third' },
  third: { done: 1, refused: [], left: 0, next_cursor: null },
};

describe('everything that matches', () => {
  it('is asked for until nothing is left, and says how far it is', async () => {
    const asked: (string | null)[] = [];
    const told: Sum[] = [];
    const ask: Ask = async (cursor) => {
      asked.push(cursor);
      return PARTS[cursor ?? 'first'] as ManyJobsDone;
    };
    const sum = await doToAll(ask, (one) => told.push(one));
    expect(asked).toEqual([null, 'second', 'third']);
    expect([sum.done, sum.refused.map(({ id }) => id), sum.total]).toEqual([4, [7], 5]);
    expect(told.map(percent)).toEqual([40, 80, 100]);
  });

  it('may be nothing', () => {
    expect(percent({ done: 0, refused: [], total: 0 })).toBe(100);
  });

  it('stops where nobody answers', async () => {
    const told: Sum[] = [];
    const ask: Ask = async (cursor) => {
      if (cursor !== null) throw new Error('away');
      return PARTS.first as ManyJobsDone;
    };
    await expect(doToAll(ask, (one) => told.push(one))).rejects.toThrow('away');
    expect(told.map(({ done }) => done)).toEqual([2]);
  });
});
