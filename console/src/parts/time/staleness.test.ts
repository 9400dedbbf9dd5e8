import { describe, expect, it } from 'vitest';
import { ageText, beatOn, degraded, gradeOf } from '@/parts/time/staleness';

describe('staleness', () => {
  it.each([
    [0, 'fresh'],
    [33_000, 'fresh'],
    [33_001, 'missed30'],
    [59_999, 'missed30'],
    [60_000, 'missed60'],
    [89_999, 'missed60'],
    [90_000, 'missed90'],
  ])('of %i ms is %s', (age, grade) => {
    expect(gradeOf(age)).toBe(grade);
  });

  it('goes by the rules it is given', () => {
    const coordinators = { every: 10_000, dead: 30_000, seenAfter: 10_000 };
    expect([21_000, 21_001, 30_000].map((age) => gradeOf(age, coordinators))).toEqual([
      'fresh',
      'missed30',
      'missed90',
    ]);
    expect([2_200, 4_000, 6_000].map((age) => gradeOf(age, { every: 2_000, dead: 6_000 }))).toEqual([
      'fresh',
      'missed60',
      'missed90',
    ]);
  });

  it('takes away from a state that was good', () => {
    const running = { colour: 'green', icon: '●', pulsing: true } as const;
    expect(degraded(running, 'fresh')).toBe(running);
    expect(degraded(running, 'missed30')).toEqual({ colour: 'orange', icon: '●', pulsing: false });
    expect(degraded(running, 'missed90').colour).toBe('red');
  });

  it('is told in whole seconds', () => {
    expect([ageText(-5), ageText(12_900), ageText(61_500)]).toEqual(['0 s', '12 s', '1 min 01 s']);
  });

  it('counts from the answer, on one clock', () => {
    expect(beatOn(100_000, 12.5)).toBe(87_500);
  });
});
