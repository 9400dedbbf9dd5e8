import { expect, it } from 'vitest';
import type { Match } from '@/parts/log/LogSearch';
import { unseenOf } from '@/parts/log/unseen';

const at = (line: number): Match => ({ line, text: '', offset: 0, start: 0, end: 0 });

it('counts every line behind the one that was seen last', () => {
  expect(unseenOf(10, 54, null)).toBe(44);
  expect(unseenOf(10, 10, null)).toBe(0);
});

it('counts the lines of the chosen levels where only those are shown', () => {
  expect(unseenOf(10, 54, [at(3), at(10), at(31)])).toBe(1);
  expect(unseenOf(10, 54, [])).toBe(0);
});

it('counts none while the end is followed', () => {
  expect(unseenOf(null, 54, null)).toBe(0);
  expect(unseenOf(null, 54, [at(31)])).toBe(0);
});
