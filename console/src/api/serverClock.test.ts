import { describe, expect, it } from 'vitest';
import { aheadBy, answeredAt, type Heard, heardTime, serverNow } from '@/api/serverClock';

/** What is heard when the server is so far ahead, asked at these instants of the browser, each answered after 40 ms with
 * what it wrote down so long before. */
function heard(ahead: number, old: number, ...asked: number[]): Heard[] {
  return asked.map((sent) => {
    const written = sent + 20 + ahead - old;
    return { date: Math.floor(written / 1_000) * 1_000, sent, received: sent + 40 };
  });
}

describe('the clock of the server', () => {
  it('is the one of the browser where nothing speaks against it', () => {
    expect(aheadBy([])).toBe(0);
    expect(aheadBy(heard(0, 0, 1_000, 2_300, 5_900))).toBe(0);
    expect(aheadBy(heard(0, 450, 10_100, 11_440, 12_420)), 'also where a busy server is late to say').toBe(0);
  });

  it('is known to a second by one answer, and better by several', () => {
    expect(Math.abs(aheadBy(heard(180_000, 0, 10_500)) - 180_000)).toBeLessThan(1_100);
    const several = aheadBy(heard(180_000, 100, 10_020, 11_970, 14_300, 16_600));
    expect(Math.abs(several - 180_000)).toBeLessThan(300);
    expect(Math.abs(aheadBy(heard(-180_000, 0, 10_020, 11_970)) + 180_000)).toBeLessThan(300);
  });

  it('is believed when it is set', () => {
    const before = heard(180_000, 0, 10_020, 11_970);
    expect(aheadBy([...before, ...heard(0, 0, 13_500)])).toBe(0);
  });

  it('is not told by an answer that hung: who stood still writes what they read before', () => {
    const now = Date.now();
    for (const one of heard(0, 0, now - 90_000, now - 80_000)) heardTime(one);
    heardTime({ date: now - 70_000, sent: now - 46_000, received: now });
    expect(Math.abs(serverNow() - Date.now())).toBeLessThan(1_000);
    expect(answeredAt()).toBe(now);
  });
});
