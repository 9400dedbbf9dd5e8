import { infiniteQueryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { asQuery, type JobFilters } from '@/pages/jobs/filters';

/** Jobs with their last executions: told by those, and asked again now and then for what people changed. */
export function boardQuery(filters: JobFilters) {
  return infiniteQueryOptions({
    queryKey: ['executions', 'board', filters],
    queryFn: ({ pageParam }) =>
      got(
        api.GET('/api/v1/jobs/board', {
          params: { query: { ...asQuery(filters), limit: 50, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
}
