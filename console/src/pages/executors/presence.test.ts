import { describe, expect, it } from 'vitest';
import type { Executor, Reach } from '@/api/types';
import { askAgainIn, livenessNow, onlineIn, together, worstFirst } from '@/pages/executors/presence';

describe('how an executor is', () => {
  const rules = { every: 30_000, dead: 90_000 };

  it('is counted on between two answers, with a moment for a beat that is not known of yet', () => {
    const silent = { state: 'alive', beat_age: 30 } as Executor;
    const states = [0, 4_000, 5_000, 32_000, 60_000].map((later) => livenessNow(silent, 1_000, 1_000 + later, rules));
    expect(states).toEqual(['alive', 'alive', 'missed_30', 'missed_60', 'missed_90']);
    const missing = { state: 'missed_30', beat_age: 58 } as Executor;
    expect(livenessNow(missing, 0, 2_000, rules)).toBe('missed_60');
    expect(livenessNow(missing, 0, -40_000, rules), 'never better than it was said to be').toBe('missed_30');
  });

  it('is asked for when a beat is overdue, and every five seconds otherwise', () => {
    const beaten = (beat_age: number, state = 'alive') => ({ state, beat_age }) as Executor;
    expect(askAgainIn([beaten(3), beaten(80, 'missed_60')], rules)).toBe(5_000);
    expect(askAgainIn([beaten(3), beaten(30)], rules)).toBe(3_100);
    expect(askAgainIn([beaten(33)], rules)).toBe(1_000);
    expect(askAgainIn([], rules)).toBe(5_000);
  });

  it('is removed for good', () => {
    expect(livenessNow({ state: 'removed', beat_age: 3 } as Executor, 0, 0, rules)).toBe('removed');
  });
});

describe('presence', () => {
  it('counts those of an app whose beats are not long overdue', () => {
    const executors = (['alive', 'missed_30', 'missed_60', 'missed_90'] as const).map(
      (state) => ({ app_name: 'demo', state }) as Executor,
    );
    executors.push({ app_name: 'other', state: 'alive' } as Executor);
    expect(onlineIn('demo', executors)).toEqual({ alive: 2, all: 4 });
    expect(onlineIn('nobody', executors)).toEqual({ alive: 0, all: 0 });
  });

  it('puts first who cannot reach it', () => {
    const reaches = [
      { node: 'b', state: 'reachable' },
      { node: 'c', state: 'unreachable' },
      { node: 'a', state: 'reachable' },
    ] as Reach[];
    expect(worstFirst(reaches).map((one) => one.node)).toEqual(['c', 'a', 'b']);
  });

  it('says once what several find, but who has a reason says it alone', () => {
    const reaches = [
      { node: 'c', state: 'undoubted' },
      { node: 'e', state: 'unreachable', reason: 'refused' },
      { node: 'd', state: 'unreachable', reason: 'timeout' },
      { node: 'b', state: 'undoubted' },
      { node: 'a', state: 'reachable' },
    ] as Reach[];
    const names = together(reaches).map((same) => same.map((one) => one.node).join(' '));
    expect(names).toEqual(['d', 'e', 'a', 'b c']);
  });
});
