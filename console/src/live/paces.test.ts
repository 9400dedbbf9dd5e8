import { type QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { makeQueries } from '@/app/queries';
import { paced } from '@/live/paces';
import { statsQuery } from '@/pages/dashboard/queries';
import { executionsQuery, histogramQuery } from '@/pages/executions/queries';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A page that shows these, and how often each was asked for. */
function page(queries: QueryClient, shown: { queryKey: readonly unknown[]; meta?: object }[]): Map<string, number> {
  const asked = new Map<string, number>();
  for (const one of shown) {
    const name = String(one.queryKey[1]);
    asked.set(name, 0);
    const queryFn = async () => asked.set(name, (asked.get(name) ?? 0) + 1).size;
    new QueryObserver(queries, { ...one, queryFn, retry: false } as never).subscribe(() => undefined);
  }
  return asked;
}

it('asks for sums every few seconds, whatever changes, and for lists once a second', async () => {
  const queries = makeQueries();
  const list = executionsQuery({});
  const asked = page(queries, [
    { queryKey: list.queryKey, meta: list.meta },
    { queryKey: statsQuery.queryKey, meta: statsQuery.meta },
    histogramQuery({}, 0) as never,
  ]);
  const changed = paced(queries, () => Date.now());
  await vi.advanceTimersByTimeAsync(5_000);
  for (let second = 0; second < 50; second += 1) {
    for (const subject of ['executions', 'jobs', 'executors']) changed(subject);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(asked.get('list')).toBeGreaterThanOrEqual(50);
  expect(asked.get('stats')).toBeGreaterThanOrEqual(10);
  expect(asked.get('stats')).toBeLessThanOrEqual(12);
  expect(asked.get('histogram')).toBeLessThanOrEqual(12);
});

it('shows the first change at once, and the last one soon', async () => {
  const queries = makeQueries();
  const asked = page(queries, [{ queryKey: statsQuery.queryKey, meta: statsQuery.meta }]);
  const changed = paced(queries, () => Date.now());
  await vi.advanceTimersByTimeAsync(5_000);
  changed('jobs');
  await vi.advanceTimersByTimeAsync(100);
  expect(asked.get('stats')).toBe(2);
  changed('executions');
  await vi.advanceTimersByTimeAsync(5_000);
  expect(asked.get('stats')).toBe(3);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(asked.get('stats')).toBe(3);
});
