import { describe, expect, it } from 'vitest';
import { LOOKS, listedAs, STATUSES, statusOf } from '@/status/statuses';

describe('a status', () => {
  it.each([
    [0, 0, 'init'],
    [200, 0, 'pending'],
    [200, 200, 'success'],
    [200, 502, 'timeout'],
    [200, 500, 'failed'],
    [200, 404, 'failed'],
    [0, 200, 'success'],
    [500, 0, 'trigger_failed'],
    [500, 200, 'trigger_failed'],
  ])('of %i/%i is %s', (trigger, handle, status) => {
    expect(statusOf(trigger, handle)).toBe(status);
  });

  it('of what was cancelled before it began has the look of no failure', () => {
    expect(listedAs({ status: 'failed', cancelled: true })).toBe('cancelled');
    expect(listedAs({ status: 'trigger_failed', cancelled: true })).toBe('cancelled');
    expect(listedAs({ status: 'failed', cancelled: false })).toBe('failed');
    expect(listedAs({ status: 'failed' })).toBe('failed');
    expect(LOOKS.cancelled.colour).toBe('gray');
  });

  it('has a look of its own, by colour, fill or motion', () => {
    const looks = STATUSES.map((one) => `${LOOKS[one].colour} ${LOOKS[one].outlined} ${LOOKS[one].moving}`);
    expect(new Set(looks).size).toBe(STATUSES.length);
  });
});
