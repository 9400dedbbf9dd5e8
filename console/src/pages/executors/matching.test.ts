import { describe, expect, it } from 'vitest';
import type { Executor, Group } from '@/api/types';
import { executorsWith, groupsWith } from '@/pages/executors/matching';

const GROUPS = [
  { app_name: 'billing', title: 'Invoices' },
  { app_name: 'reports', title: '' },
] as Group[];
const EXECUTORS = [
  { address: 'http://10.0.0.1:9999', app_name: 'billing', queues: [] as string[] },
  { address: 'http://10.0.0.2:9999', app_name: 'reports', queues: ['nightly'] },
] as Executor[];

describe('a text on the page of executors', () => {
  it.each([
    ['', 2],
    [undefined, 2],
    [' INVOICES ', 1],
    ['10.0.0', 2],
    ['nightly', 1],
    ['nobody', 0],
  ])('%j means so many executors', (text, count) => {
    expect(executorsWith(text, EXECUTORS, GROUPS)).toHaveLength(count);
  });

  it('means groups by app and title', () => {
    expect(groupsWith('invo', GROUPS).map((one) => one.app_name)).toEqual(['billing']);
    expect(groupsWith('reports', GROUPS).map((one) => one.app_name)).toEqual(['reports']);
  });
});
