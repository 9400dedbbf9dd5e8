import { describe, expect, it } from 'vitest';
import { ENDINGS, endingsOf, layBars, layDurations, roundedTime, roundedUp, ticksAt } from '@/parts/histogram/layout';

const NONE = { success: 0, failed: 0, timeout: 0, trigger_failed: 0, mean_ms: null, longest_ms: null };

describe('the bars of a histogram', () => {
  it('stack what went wrong on what went well', () => {
    const { bars, top } = layBars([{ ...NONE, start: '2026-01-01T00:00:00Z', success: 60, failed: 40 }]);
    expect(top).toBe(100);
    expect(bars[0]?.segments).toEqual([
      { ending: 'success', from: 0, size: 0.6 },
      { ending: 'failed', from: 0.6, size: 0.4 },
    ]);
  });

  it('count what is asked for and nothing else', () => {
    const part = { ...NONE, start: '2026-01-01T00:00:00Z', success: 60, failed: 4 };
    const { bars, top } = layBars([part], endingsOf(['failed']));
    expect([top, bars[0]?.total, bars[0]?.segments.map(({ ending }) => ending)]).toEqual([5, 4, ['failed']]);
    expect(endingsOf(undefined)).toBe(ENDINGS);
    expect(endingsOf(['pending'])).toEqual([]);
    expect(endingsOf(['failed', 'pending', 'timeout'])).toEqual(['timeout', 'failed']);
  });

  it('show one failure among thousands', () => {
    const { bars } = layBars([{ ...NONE, start: '2026-01-01T00:00:00Z', success: 9_999, failed: 1 }]);
    expect(bars[0]?.segments.at(-1)?.size).toBeGreaterThanOrEqual(0.02);
  });

  it.each([
    [0, 5],
    [6, 10],
    [11, 20],
    [230, 250],
    [1_001, 2_000],
  ])('have a scale with a round top: %i fits under %i', (value, top) => {
    expect(roundedUp(value)).toBe(top);
  });
});

describe('the times below the bars', () => {
  const hours = (count: number) => Array.from({ length: count }, (_, index) => index * 3_600_000);
  const hourOf = (start: number) => (start / 3_600_000 + 7) % 24; // the first bar is at seven

  it('stand at round hours, and midnight is a day', () => {
    expect(ticksAt('hour', hours(25), 6, hourOf)).toEqual([
      { index: 5, day: false },
      { index: 11, day: false },
      { index: 17, day: true },
      { index: 23, day: false },
    ]);
  });

  it('are days where there are many hours', () => {
    const ticks = ticksAt('hour', hours(169), 8, hourOf);
    expect(ticks).toHaveLength(7);
    expect(ticks.every(({ day }) => day)).toBe(true);
  });

  it('count days from the last', () => {
    const days = Array.from({ length: 31 }, (_, index) => index);
    expect(ticksAt('day', days, 8, () => 0).map(({ index }) => index)).toEqual([0, 5, 10, 15, 20, 25, 30]);
  });
});

describe('the bars of how long executions took', () => {
  const day = (mean_ms: number | null, longest_ms: number | null) => ({
    ...NONE,
    start: '2026-01-01T00:00:00Z',
    mean_ms,
    longest_ms,
  });

  it('are shares of a round time that the longest fits under', () => {
    const { bars, top } = layDurations([day(15_000, 30_000), day(null, null), day(1, 60_000)]);
    expect(top).toBe(60_000);
    expect(bars.map(({ mean, longest }) => [mean, longest])).toEqual([
      [0.25, 0.5],
      [0, 0],
      [0.02, 1],
    ]);
  });

  it.each([
    [0, 1],
    [501, 1_000],
    [61_000, 120_000],
    [31 * 60_000, 3_600_000],
    [49 * 3_600_000, 72 * 3_600_000],
  ])('have a scale with a round top: %i fits under %i', (ms, top) => {
    expect(roundedTime(ms)).toBe(top);
  });
});
