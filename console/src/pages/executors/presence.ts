import type { Executor, Liveness, Reach } from '@/api/types';
import { type BeatRules, beatOn, type Grade, gradeOf } from '@/parts/time/staleness';

/** Who is counted as there: a missed beat may be one that is late. */
const ONLINE: Record<Liveness, boolean> = {
  alive: true,
  missed_30: true,
  missed_60: false,
  missed_90: false,
  removed: false,
};

const BY_GRADE: Record<Grade, Liveness> = {
  fresh: 'alive',
  missed30: 'missed_30',
  missed60: 'missed_60',
  missed90: 'missed_90',
};

/** How long after a beat is overdue one may still not know that it came, for then is when it is asked for. */
const SEEN_AFTER = 1_500;
const WORST_LAST: readonly Liveness[] = ['alive', 'missed_30', 'missed_60', 'missed_90', 'removed'];

/** By what the beat of an executor is judged between two answers: that one came is not known before the next. */
export function rulesBetween(state: Liveness, rules: BeatRules): BeatRules {
  return state === 'alive' ? { ...rules, seenAfter: SEEN_AFTER } : rules;
}

/** What the age of its beat says by now: it grows between two answers. */
export function livenessNow(
  { state, beat_age }: Executor,
  answeredAt: number,
  now: number,
  rules: BeatRules,
): Liveness {
  const counted = BY_GRADE[gradeOf(now - beatOn(answeredAt, beat_age), rulesBetween(state, rules))];
  return WORST_LAST.indexOf(counted) > WORST_LAST.indexOf(state) ? counted : state;
}

const EVERY = 5_000;
const SOONEST = 1_000;

/** When to ask again, in ms: now and then, and as soon as a beat that is expected is overdue. */
export function askAgainIn(executors: readonly Executor[], rules: BeatRules): number {
  const overdue = executors
    .filter(({ state }) => state === 'alive')
    .map(({ beat_age }) => 1.1 * rules.every - beat_age * 1_000 + 100);
  return Math.max(SOONEST, Math.min(EVERY, ...overdue));
}

export function onlineIn(appName: string, executors: readonly Executor[]): { alive: number; all: number } {
  const mine = executors.filter((one) => one.app_name === appName);
  return { alive: mine.filter((one) => ONLINE[one.state]).length, all: mine.length };
}

/** What coordinators find, the worst first: who looks wants to see who cannot reach it. */
export function worstFirst(reaches: readonly Reach[]): Reach[] {
  const order: Record<Reach['state'], number> = { unreachable: 0, suspect: 1, reachable: 2, undoubted: 3, untried: 4 };
  return [...reaches].sort((a, b) => order[a.state] - order[b.state] || a.node.localeCompare(b.node));
}

/** The same with those together that find the same and have nothing to add. */
export function together(reaches: readonly Reach[]): [Reach, ...Reach[]][] {
  const groups: [Reach, ...Reach[]][] = [];
  for (const one of worstFirst(reaches)) {
    const last = groups.at(-1);
    if (last && last[0].state === one.state && !last[0].reason && !one.reason) last.push(one);
    else groups.push([one]);
  }
  return groups;
}
