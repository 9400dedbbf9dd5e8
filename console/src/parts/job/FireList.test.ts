import { describe, expect, it } from 'vitest';
import { onTheClock } from '@/parts/job/FireList';

describe('a fire on the clock of its zone', () => {
  it('has the offset of that day', () => {
    expect(onTheClock('2026-03-29T01:00:00.000Z', 'en', 'Europe/Berlin')).toBe('Sun, Mar 29, 2026, 03:00 GMT+2');
    expect(onTheClock('2026-03-28T01:00:00.000Z', 'en', 'Europe/Berlin')).toBe('Sat, Mar 28, 2026, 02:00 GMT+1');
  });

  it('has seconds only where there are some', () => {
    expect(onTheClock('2026-03-28T01:00:30.000Z', 'en', 'UTC')).toContain('01:00:30');
  });
});
