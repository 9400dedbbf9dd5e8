import { expect, it } from 'vitest';
import { type Level, levelOf } from '@/parts/log/lines';
import { within } from '@/parts/log/within';

const LINES = [
  '2026-01-01T00:00:00Z INFO row 7777 of the ledger',
  '2026-01-01T00:00:01Z ERROR has no Row (7777) in its middle',
  '2026-01-01T00:00:02Z ERROR is out of paper',
  'row 7777, an error that names no level',
];
const plain = (text: string) => ({ text, regex: false, ignoreCase: false });

/** The lines that are found and of these levels, as the server and the page find them together. */
function found(text: string, levels: Level[]): number[] {
  const query = within(plain(text), levels);
  expect(query).toMatchObject({ regex: true, ignoreCase: false });
  const expression = new RegExp(query?.text ?? '');
  return LINES.flatMap((line, index) => (expression.test(line) && levels.includes(levelOf(line)) ? [index] : []));
}

it('finds only what has both the words and the level', () => {
  expect(found('7777', ['error'])).toEqual([1]);
  expect(found('Row (7777)', ['error'])).toEqual([1]);
  expect(found('row', ['info', 'other'])).toEqual([0, 3]);
  expect(found('2026', ['error'])).toEqual([1, 2]);
  const either = within({ ...plain('ROW'), ignoreCase: true }, ['other']);
  expect(either, 'the levels have their own case').toMatchObject({ ignoreCase: false });
  expect(either?.text).toContain('(?i:ROW)');
});

it('asks for one alone where the other is not chosen, and for what cannot be put together', () => {
  const expression = { text: 'a|b', regex: true, ignoreCase: true };
  const long = plain('x'.repeat(490));
  expect(within(null, [])).toBeNull();
  expect(within(long, [])).toBe(long);
  expect(within(null, ['error'])?.text).toContain('ERROR');
  expect(within(expression, ['error'])).toBe(expression);
  expect(within(long, ['error'])).toBe(long);
});
