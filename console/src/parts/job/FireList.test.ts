import { describe, expect, it } from 'vitest';
import { onTheClock } from '@/parts/job/FireList';

const NOW = Date.parse('2026-03-01T12:00:00Z');

describe('a fire on the clock of its zone', () => {
  it('has the offset of that day', () => {
    expect(onTheClock('2026-03-29T01:00:00.000Z', 'en', 'Europe/Berlin', NOW)).toBe('Sun, Mar 29, 03:00 GMT+2');
    expect(onTheClock('2026-03-28T01:00:00.000Z', 'en', 'Europe/Berlin', NOW)).toBe('Sat, Mar 28, 02:00 GMT+1');
  });

  it('has the zone after the time in every language', () => {
    const at = '2026-03-29T01:00:00.000Z';
    expect(onTheClock(at, 'zh-CN', 'Europe/Berlin', NOW)).toBe('3月29日周日 03:00 GMT+2');
    expect(onTheClock(at, 'fr', 'Europe/Berlin', NOW)).toMatch(/03:00 UTC\+2$/);
  });

  it('has the year only where it is another one, in that zone', () => {
    expect(onTheClock('2026-12-31T23:30:00.000Z', 'en', 'Europe/Berlin', NOW)).toBe('Fri, Jan 1, 2027, 00:30 GMT+1');
  });

  it('has seconds only where there are some', () => {
    expect(onTheClock('2026-03-28T01:00:30.000Z', 'en', 'UTC', NOW)).toContain('01:00:30');
  });
});
