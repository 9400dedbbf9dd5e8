import { expect, it } from 'vitest';
import { offered } from '@/pages/executions/ExecutorChoice';

it('offers each address once, and what was typed beside those that are known', () => {
  expect(offered(['http://a:1', 'http://b:1'], [undefined, ''])).toEqual(['http://a:1', 'http://b:1']);
  expect(offered(['http://a:1'], ['http://gone:1', ' http://a:1 '])).toEqual(['http://a:1', 'http://gone:1']);
});
