import { describe, expect, it } from 'vitest';
import { plain } from '@/parts/log/ansi';
import { levelOf, told } from '@/parts/log/lines';
import LINES from '@/parts/log/shownLines.json';

const STAMP = '2026-01-30T10:00:00.123Z';

it.each(LINES)('a line is shown, and has its level, as the server searches it: $shown', ({ line, shown, level }) => {
  expect([plain(line), levelOf(line)]).toEqual([shown, level]);
});

describe('the time of a line', () => {
  it('is taken off where it says its zone', () => {
    expect(told(`${STAMP} hello`)).toEqual({ at: Date.parse(STAMP), body: 'hello' });
    expect(told('2026-01-30 11:00:00,5+01:00 x').at).toBe(Date.parse('2026-01-30T10:00:00.500Z'));
    expect(told(`${STAMP} `)).toEqual({ at: Date.parse(STAMP), body: '' });
  });

  it('stays where nobody knows the clock, or there is none', () => {
    expect(told('2026-01-30 10:00:00 x')).toEqual({ at: null, body: '2026-01-30 10:00:00 x' });
    expect(told('2026-13-77T10:00:00Z x').at).toBeNull();
  });
});
