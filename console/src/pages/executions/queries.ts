import { infiniteQueryOptions, queryOptions, useQueries } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { executionQuery } from '@/api/executions';
import type { Execution, ExecutionDetail, ExecutionsPage, ManyDone } from '@/api/types';
import { asQuery, bucketFor, type ExecutionFilters } from '@/pages/executions/filters';
import { TERMINAL } from '@/status/statuses';

export function executionsQuery(filters: ExecutionFilters, longestFirst = false) {
  const sorted = longestFirst ? { sort: 'duration' as const } : {};
  return infiniteQueryOptions({
    queryKey: ['executions', 'list', filters, sorted],
    meta: { alsoToldBy: ['alarms'] as const }, // each row says whether somebody was told of it
    queryFn: ({ pageParam }): Promise<ExecutionsPage> =>
      got(
        api.GET('/api/v1/executions', {
          params: { query: { ...asQuery(filters), ...sorted, limit: 50, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
}

/** Counts exist by job and group; other filters do not change the bars. */
export function histogramQuery(filters: ExecutionFilters, now: number) {
  const { job_id, job_group, since, until } = asQuery(filters);
  const query = { job_id, job_group, since: since ?? '24h', until, bucket: bucketFor(filters, now) };
  return queryOptions({
    queryKey: ['executions', 'histogram', query],
    meta: { sums: true },
    queryFn: () => got(api.GET('/api/v1/stats/histogram', { params: { query } })),
  });
}

/** Where executors are, as far as they are registered; a filter needs no more of them than a page. */
export const addressesQuery = queryOptions({
  queryKey: ['executors', 'addresses'],
  queryFn: async () => {
    const { items } = await got(api.GET('/api/v1/executors', { params: { query: { limit: 200 } } }));
    return [...new Set(items.map(({ address }) => address))].sort();
  },
  staleTime: 10_000,
});

/** Under a key of its own: what happens to executions says nothing of how far one is. */
export function progressQuery(id: number) {
  const params = { path: { execution_id: id } };
  return queryOptions({
    queryKey: ['progress', id],
    queryFn: async () => (await got(api.GET('/api/v1/executions/{execution_id}', { params }))).progress ?? null,
  });
}

export type Bulk = 'retry' | 'kill';

/** Executions in one request, so that one sees it get on and it can be stopped. */
const PART = 500;

/** Do something to the next executions that match, the oldest first; or have the server try it and undo it. */
export function doToMany(
  what: Bulk,
  filters: ExecutionFilters,
  asked: { dryRun: true } | { after: number | null },
): Promise<ManyDone> {
  const how = 'dryRun' in asked ? { dry_run: true, max: PART } : { max: PART };
  const query = { ...asQuery(filters), ...how };
  if (what === 'kill') return got(api.POST('/api/v1/executions/bulk/kill', { params: { query } }));
  const from = 'after' in asked && asked.after !== null ? { after: asked.after } : {};
  return got(api.POST('/api/v1/executions/bulk/retry', { params: { query: { ...query, ...from } } }));
}

/** So many at most are asked for one by one. */
const LEFT = 50;

/** Rows that no longer match and stay for a while: what was open then is shown as it is by now. */
export function useLatest(left: Execution[]): Execution[] {
  const open = left.filter(({ status }) => !TERMINAL[status]).slice(0, LEFT);
  const found = useQueries({
    queries: open.map(({ id }) => ({
      ...executionQuery(id),
      enabled: ({ state }: { state: { data: ExecutionDetail | undefined } }) =>
        !state.data || !TERMINAL[state.data.status],
    })),
  });
  const latest = new Map(found.flatMap(({ data }) => (data ? [[data.id, data] as const] : [])));
  return left.map((one) => latest.get(one.id) ?? one);
}
