import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Refreshing } from '@/live/refreshing';

/** Looks that take so many milliseconds. */
function site(takes: number) {
  const looks: string[] = [];
  let under = 0;
  let most = 0;
  const refreshing = new Refreshing({
    now: () => Date.now(),
    look: async (subject) => {
      looks.push(subject);
      under += 1;
      most = Math.max(most, under);
      await new Promise((done) => setTimeout(done, takes));
      under -= 1;
    },
  });
  return { refreshing, looks, most: () => most };
}

describe('asking again', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is done at once, and once more for what changed meanwhile', async () => {
    const { refreshing, looks } = site(20);
    refreshing.changed('executions');
    refreshing.changed('executions');
    refreshing.changed('executions');
    expect(looks).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(300);
    expect(looks).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(looks).toHaveLength(2);
  });

  it('lets a slow answer arrive, and rests as long after it, however often something changes', async () => {
    const { refreshing, looks, most } = site(2_000);
    for (let at = 0; at < 60; at += 1) {
      refreshing.changed('jobs');
      await vi.advanceTimersByTimeAsync(500);
    }
    expect(most()).toBe(1);
    expect(looks).toHaveLength(8);
  });

  it('never rests so long that what ended meanwhile stays unseen', async () => {
    const { refreshing, looks } = site(6_000);
    refreshing.changed('executions');
    await vi.advanceTimersByTimeAsync(6_000);
    refreshing.changed('executions');
    await vi.advanceTimersByTimeAsync(2_000);
    expect(looks).toHaveLength(2);
  });

  it('goes on after a look that failed, and keeps subjects apart', async () => {
    const looks: string[] = [];
    const refreshing = new Refreshing({
      now: () => Date.now(),
      look: (subject) => {
        looks.push(subject);
        return subject === 'jobs' ? Promise.reject(new Error('away')) : Promise.resolve();
      },
    });
    refreshing.changed('jobs');
    refreshing.changed('executors');
    await vi.advanceTimersByTimeAsync(300);
    refreshing.changed('jobs');
    expect(looks).toEqual(['jobs', 'executors', 'jobs']);
  });
});
