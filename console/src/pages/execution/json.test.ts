import { expect, it } from 'vitest';
import { shownJson } from '@/pages/execution/json';

it('lays out JSON and leaves everything else alone', () => {
  expect(shownJson('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect([shownJson('{no json'), shownJson('12'), shownJson('')]).toEqual(['{no json', '12', '']);
});
