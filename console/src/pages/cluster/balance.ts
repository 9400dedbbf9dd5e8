// How evenly executions are owned, and what a drain or a step-down would change: decided here, shown elsewhere.

import type { ClusterNode } from '@/api/types';
import type { BeatRules } from '@/parts/time/staleness';

export interface Share {
  node: string;
  owned: number;
  /** Of the one that owns most, 0 to 1. */
  part: number;
  over: boolean;
}

export interface Balance {
  shares: Share[];
  /** Where the threshold is on the same scale; null when it is beyond it, or nothing is evened out. */
  threshold: number | null;
  /** How many times as much the one that owns most has as the one that owns least; null without a second node. */
  ratio: number | null;
}

/** From when on some are handed over: so many times as much, and so many more. Without a factor nothing is. */
export interface Threshold {
  rebalance_factor: number | null;
  rebalance_difference: number;
}

export function living(nodes: readonly ClusterNode[]): ClusterNode[] {
  return nodes.filter((node) => node.state === 'active' || node.state === 'draining');
}

export function balanceOf(nodes: readonly ClusterNode[], rules: Threshold): Balance {
  const { rebalance_factor: factor, rebalance_difference: difference } = rules;
  const there = living(nodes);
  const counts = there.map((node) => node.owned);
  const most = Math.max(0, ...counts);
  const least = Math.min(...counts, Number.POSITIVE_INFINITY);
  const several = there.length > 1;
  const bound = factor === null || !several ? null : Math.max(factor * least, least + difference);
  const shares = there.map((node) => ({
    node: node.id,
    owned: node.owned,
    part: most === 0 ? 0 : node.owned / most,
    over: bound !== null && node.owned === most && node.owned >= bound,
  }));
  return {
    shares,
    threshold: bound === null || most === 0 || bound > most ? null : bound / most,
    ratio: several && least > 0 ? most / least : null,
  };
}

/** Who would take over what a node owns, or its lead: those that live and stay. */
export function successors(nodes: readonly ClusterNode[], leaving: string): string[] {
  return nodes
    .filter((node) => node.id !== leaving && node.state === 'active' && node.asked_to !== 'drain')
    .map((node) => node.id);
}

/** How often ages are asked for, in ms: as often as the lease can be another one, within reason. */
export function agesEvery(renew: number | undefined): number {
  return Math.min(5, Math.max(1, renew ?? 5)) * 1_000;
}

/** Whether something may be orphaned, or cease to be, of which no event tells: what a coordinator that is gone had is
 * nobody's before that is written down, and may end so. */
export function unsettled(nodes: readonly ClusterNode[], orphans: number, waiting: number): boolean {
  return waiting > 0 || orphans > 0 || nodes.some((node) => node.state === 'dead');
}

/** By what beats of coordinators are judged. Each looks at the others' once in a beat, and may see one so much later. */
export function nodeBeats({ heartbeat, dead_after }: { heartbeat: number; dead_after: number }): BeatRules {
  return { every: heartbeat * 1_000, dead: dead_after * 1_000, seenAfter: heartbeat * 1_000 };
}

/** The share of a lease that has passed, 0 to 1, by the age it had when it was asked for. */
export function leaseUsed(age: number | null, lease: number, sinceMs: number): number | null {
  if (age === null) return null;
  return Math.min(1, Math.max(0, (age + sinceMs / 1_000) / lease));
}
