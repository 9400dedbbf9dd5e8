import { describe, expect, it } from 'vitest';
import type { ClusterNode } from '@/api/types';
import { agesEvery, balanceOf, leaseUsed, nodeBeats, successors, unsettled } from '@/pages/cluster/balance';
import { gradeOf } from '@/parts/time/staleness';

function node(id: string, owned: number, more: Partial<ClusterNode> = {}): ClusterNode {
  return { id, owned, state: 'active', asked_to: null, ...more } as ClusterNode;
}

const TWICE = { rebalance_factor: 2, rebalance_difference: 10 };

describe('ages', () => {
  it('are asked for as often as the lease is renewed, and neither all the time nor hardly ever', () => {
    expect([0.3, 3, 60, undefined].map(agesEvery)).toEqual([1_000, 3_000, 5_000, 5_000]);
  });
});

describe('what waits for an owner', () => {
  it('is asked for while something may be orphaned that nobody tells of', () => {
    expect(unsettled([node('a', 1)], 0, 0)).toBe(false);
    expect(unsettled([node('a', 1)], 1, 0)).toBe(true);
    expect(unsettled([node('a', 1)], 0, 1)).toBe(true);
    expect(unsettled([node('a', 1), node('b', 0, { state: 'dead' })], 0, 0)).toBe(true);
    expect(unsettled([node('a', 1), node('b', 0, { state: 'offline' })], 0, 0)).toBe(false);
  });
});

describe('the balance', () => {
  it('marks the one that owns too much, and the threshold', () => {
    const found = balanceOf([node('a', 40), node('b', 10), node('c', 15)], TWICE);
    expect(found.ratio).toBe(4);
    expect(found.threshold).toBe(0.5);
    expect(found.shares.map((one) => [one.node, one.part, one.over])).toEqual([
      ['a', 1, true],
      ['b', 0.25, false],
      ['c', 0.375, false],
    ]);
  });

  it('leaves small differences alone', () => {
    const found = balanceOf([node('a', 9), node('b', 1)], TWICE);
    expect(found.shares.some((one) => one.over)).toBe(false);
    expect(found.threshold).toBeNull();
  });

  it('goes by the difference of the settings', () => {
    const nodes = [node('a', 9), node('b', 2)];
    expect(balanceOf(nodes, TWICE).shares.some((one) => one.over)).toBe(false);
    const found = balanceOf(nodes, { ...TWICE, rebalance_difference: 5 });
    expect(found.shares.map((one) => one.over)).toEqual([true, false]);
    expect(found.threshold).toBeCloseTo(7 / 9);
    expect(balanceOf(nodes, { rebalance_factor: null, rebalance_difference: 5 }).threshold).toBeNull();
  });

  it('knows no ratio for one alone, and counts nobody who is gone', () => {
    const found = balanceOf([node('a', 9), node('b', 0, { state: 'dead' })], TWICE);
    expect([found.ratio, found.threshold, found.shares.length]).toEqual([null, null, 1]);
  });

  it('is empty where nobody is', () => {
    expect(balanceOf([], TWICE)).toEqual({ shares: [], threshold: null, ratio: null });
  });
});

describe('beats of coordinators', () => {
  it('are judged by the rules of the cluster, not by those of executors', () => {
    const rules = nodeBeats({ heartbeat: 10, dead_after: 30 });
    expect([12_000, 25_000, 31_000].map((age) => gradeOf(age, rules))).toEqual(['fresh', 'missed30', 'missed90']);
  });
});

describe('successors', () => {
  it('are those that live and stay', () => {
    const nodes = [node('a', 1), node('b', 1), node('c', 1, { asked_to: 'drain' }), node('d', 1, { state: 'dead' })];
    expect(successors(nodes, 'a')).toEqual(['b']);
  });
});

describe('the lease', () => {
  it('runs on from the age it had', () => {
    expect(leaseUsed(6, 30, 9_000)).toBe(0.5);
    expect(leaseUsed(29, 30, 9_000)).toBe(1);
    expect(leaseUsed(null, 30, 0)).toBeNull();
  });
});
