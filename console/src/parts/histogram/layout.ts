// Where the bars of a histogram go. Pure numbers: the component only draws them.

import type { HistogramPart } from '@/api/types';
import type { ListedStatus } from '@/status/statuses';

export type Ending = 'success' | 'failed' | 'timeout' | 'trigger_failed';

/** Bottom to top; what went wrong lies on what went well. */
export const ENDINGS: readonly Ending[] = ['success', 'timeout', 'failed', 'trigger_failed'];

/** The endings that statuses stand for: none for what is open or was cancelled. */
export function endingsOf(statuses: readonly ListedStatus[] | undefined): readonly Ending[] {
  return statuses === undefined ? ENDINGS : ENDINGS.filter((one) => statuses.includes(one));
}

export interface Segment {
  ending: Ending;
  /** Shares of the height, from the bottom. */
  from: number;
  size: number;
}

export interface Bar {
  start: number;
  total: number;
  segments: Segment[];
}

/** The next number with a round look, so that the scale reads well. */
export function roundedUp(value: number): number {
  if (value <= 5) return 5;
  const power = 10 ** Math.floor(Math.log10(value));
  const step = [1, 2, 2.5, 5, 10].find((one) => one * power >= value) ?? 10;
  return step * power;
}

const HOUR_STEPS = [1, 2, 3, 6, 12, 24, 48, 168];
const DAY_STEPS = [1, 2, 5, 10, 15, 30, 60, 90];

/** Which bars have a time below them: few enough to be read, at round hours of the day or a round number of days before
 * the last. `hourOf` tells the hour on the clock that is shown. */
export function ticksAt(
  bucket: 'hour' | 'day',
  starts: readonly number[],
  most: number,
  hourOf: (start: number) => number,
): { index: number; day: boolean }[] {
  const steps = bucket === 'hour' ? HOUR_STEPS : DAY_STEPS;
  const step = steps.find((one) => starts.length / one <= most) ?? starts.length;
  return starts.flatMap((start, index) => {
    if (bucket === 'day') return (starts.length - 1 - index) % step === 0 ? [{ index, day: true }] : [];
    const hour = hourOf(start);
    const due = step < 24 ? hour % step === 0 : hour === 0 && Math.floor(index / 24) % (step / 24) === 0;
    return due ? [{ index, day: hour === 0 }] : [];
  });
}

/** A part that has any ending shows it: at least this share of the height, however many others there are. */
const VISIBLE = 0.02;

/** The bars of these endings; others are not counted. */
export function layBars(
  parts: readonly HistogramPart[],
  endings: readonly Ending[] = ENDINGS,
): { bars: Bar[]; top: number } {
  const totals = parts.map((part) => endings.reduce((sum, ending) => sum + (part[ending] ?? 0), 0));
  const top = roundedUp(Math.max(0, ...totals));
  const bars = parts.map((part, index) => {
    let from = 0;
    const segments: Segment[] = [];
    for (const ending of endings) {
      const count = part[ending] ?? 0;
      if (count === 0) continue;
      const size = Math.max(count / top, VISIBLE);
      segments.push({ ending, from, size });
      from += size;
    }
    return { start: Date.parse(part.start), total: totals[index] ?? 0, segments };
  });
  return { bars, top };
}

export interface TimeBar {
  start: number;
  /** Shares of the height. */
  mean: number;
  longest: number;
}

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Of each unit, the numbers that read well. */
const ROUND_TIMES = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30].map((one) => one * SECOND),
  ...[1, 2, 5, 10, 20, 30].map((one) => one * MINUTE),
  ...[1, 2, 4, 8, 12, 24, 48].map((one) => one * HOUR),
];

/** The next time with a round look. */
export function roundedTime(ms: number): number {
  return ROUND_TIMES.find((one) => one >= ms) ?? Math.ceil(ms / (24 * HOUR)) * 24 * HOUR;
}

/** The bars of how long executions took; a part in which none ran has none. */
export function layDurations(parts: readonly HistogramPart[]): { bars: TimeBar[]; top: number } {
  const top = roundedTime(Math.max(0, ...parts.map((part) => part.longest_ms ?? 0)));
  const share = (ms: number | null) => (ms === null ? 0 : Math.max(ms / top, VISIBLE));
  const bars = parts.map((part) => ({
    start: Date.parse(part.start),
    mean: share(part.mean_ms),
    longest: share(part.longest_ms),
  }));
  return { bars, top };
}
