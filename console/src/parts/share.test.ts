import { expect, test } from 'vitest';
import { shareOf } from '@/parts/share';

test('a share is whole percents, never beyond the ends', () => {
  expect(shareOf(1, 3)).toBe(33);
  expect(shareOf(7, 5)).toBe(100);
  expect(shareOf(-1, 5)).toBe(0);
});

test('of an unknown whole there is no share', () => {
  expect(shareOf(5, null)).toBeNull();
  expect(shareOf(5, 0)).toBeNull();
});
