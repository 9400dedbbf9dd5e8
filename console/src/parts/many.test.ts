import { describe, expect, it } from 'vitest';
import { Problem, Unreachable } from '@/api/problem';
import { doToEach, doTogether, Keys } from '@/parts/many';

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

describe('what is done to several together', () => {
  const many = Array.from({ length: 250 }, (_, index) => ({ id: index + 1, name: `job ${index + 1}` }));
  const refused = (id: number) => ({ id, detail: `Job ${id} is needed.`, code: 'job_followed_by', facts: { job: id } });

  it('is asked for at once, and refusals are told by name', async () => {
    const asked: number[][] = [];
    const outcome = await doTogether([ONE, TWO], async (ids) => {
      asked.push(ids);
      return { job_ids: [1], refused: [refused(2)] };
    });
    expect(asked).toEqual([[1, 2]]);
    expect(outcome.done).toEqual([ONE]);
    expect(outcome.refused.map(({ name, why }) => [name, why.code])).toEqual([['two', 'job_followed_by']]);
  });

  it('goes on while one of a later request was in the way', async () => {
    const gone = new Set<number>();
    const outcome = await doTogether(many, async (ids) => {
      const kept = ids.filter((id) => id === 1 && !gone.has(250));
      for (const id of ids) if (!kept.includes(id)) gone.add(id);
      return { job_ids: ids.filter((id) => !kept.includes(id)), refused: kept.map(refused) };
    });
    expect([outcome.done.length, outcome.refused]).toEqual([250, []]);
  });

  it('says of what is gone that it is not there', async () => {
    const outcome = await doTogether([ONE], async () => ({ job_ids: [], refused: [] }));
    expect(outcome.refused.map(({ why }) => why.code)).toEqual(['not_found']);
  });

  it('ends where nothing more can be done', async () => {
    let asked = 0;
    const outcome = await doTogether(many, async (ids) => {
      asked += 1;
      return { job_ids: [], refused: ids.map(refused) };
    });
    expect([asked, outcome.refused.length, outcome.done]).toEqual([2, 250, []]);
  });

  it('knows what is left when nobody answers', async () => {
    const outcome = await doTogether([ONE, TWO], () => Promise.reject(new Unreachable()));
    expect(outcome.left).toEqual([ONE, TWO]);
  });
});
