import { expect, it } from 'vitest';
import { within } from '@/parts/log/within';

const query = { text: 'a|b', regex: true, ignoreCase: true };

it('asks for what is searched and for the levels at once, or for one alone', () => {
  expect(within(null, [])).toBeNull();
  expect(within(query, [])).toBe(query);
  expect(within(query, ['error'])).toEqual({ ...query, levels: ['error'] });
  expect(within(null, ['error', 'other'])).toEqual({
    text: '',
    regex: false,
    ignoreCase: false,
    levels: ['error', 'other'],
  });
});
