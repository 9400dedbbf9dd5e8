import { describe, expect, it } from 'vitest';
import { allMatches, clean, linesFrom } from '@/parts/log/saving';

describe('taking a log along', () => {
  it('leaves times and colours behind', () => {
    expect(clean('2026-01-30T10:00:00.123Z \u001b[31mred\u001b[0m')).toBe('red');
  });

  it('reads on until the last line', async () => {
    const read = async (from: number) => ({
      from_line: from,
      to_line: from + 1,
      content: `${from}\n${from + 1}`,
      end: false,
    });
    expect(await linesFrom(read, 3, 6)).toEqual(['3', '4', '5', '6']);
    const nothing = async (from: number) => ({ from_line: from, to_line: from - 1, content: '', end: true });
    expect(await linesFrom(nothing, 1, 6)).toEqual([]);
  });

  it('takes what is found, to the end', async () => {
    const query = { text: 'x', regex: false, ignoreCase: false };
    const search = async (_query: unknown, from: number) => ({
      to_line: from + 9,
      matches: [{ line: from, text: 'x', offset: 0, start: 0, end: 1 }],
      end: from > 20,
      lacking: false,
    });
    expect((await allMatches(search, query)).map((match) => match.line)).toEqual([1, 11, 21]);
  });
});
