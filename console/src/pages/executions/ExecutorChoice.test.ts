import { expect, it } from 'vitest';
import { offered } from '@/pages/executions/ExecutorChoice';

it('offers each address once, and what was typed beside those that are known', () => {
  expect(offered(['http://a:1', 'http://b:1'], [undefined, ''])).toEqual(['http://a:1', 'http://b:1']);
  expect(offered(['http://a:1'], ['http://gone:1', ' http://a:1 '])).toEqual(['http://a:1', 'http://gone:1']);
});

it('knows what is meant by an address as lists show it', () => {
  expect(offered(['https://a:1', 'http://b:1'], ['a:1'])).toEqual(['https://a:1', 'http://b:1']);
  expect(offered([], ['gone:9999'])).toEqual(['http://gone:9999']);
  expect(offered([], ['b'])).toEqual(['b']);
});
