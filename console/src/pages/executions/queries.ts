import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { ExecutionsPage, ManyDone } from '@/api/types';
import { asQuery, bucketFor, type ExecutionFilters } from '@/pages/executions/filters';

export function executionsQuery(filters: ExecutionFilters, longestFirst = false) {
  const sorted = longestFirst ? { sort: 'duration' as const } : {};
  return infiniteQueryOptions({
    queryKey: ['executions', 'list', filters, sorted],
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
    queryFn: () => got(api.GET('/api/v1/stats/histogram', { params: { query } })),
  });
}

/** Under a key of its own: what happens to executions says nothing of how far one is. */
export function progressQuery(id: number) {
  const params = { path: { execution_id: id } };
  return queryOptions({
    queryKey: ['progress', id],
    queryFn: async () => (await got(api.GET('/api/v1/executions/{execution_id}', { params }))).progress ?? null,
  });
}

export type Bulk = 'retry' | 'kill';

/** Do something to all executions that match, the oldest first; or only tell which. */
export function doToMany(what: Bulk, filters: ExecutionFilters, dryRun: boolean): Promise<ManyDone> {
  const query = { ...asQuery(filters), dry_run: dryRun };
  return what === 'retry'
    ? got(api.POST('/api/v1/executions/bulk/retry', { params: { query } }))
    : got(api.POST('/api/v1/executions/bulk/kill', { params: { query } }));
}
