import { infiniteQueryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { BoardRow } from '@/api/types';
import { asQuery, type BoardQuery, type JobFilters } from '@/pages/jobs/filters';

/** Jobs with their last executions, who could run them and their next fires. */
export function boardQuery(filters: JobFilters) {
  return infiniteQueryOptions({
    queryKey: ['executions', 'board', filters],
    meta: { alsoToldBy: ['jobs', 'executors'] },
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

export const ALL_LIMIT = 2_000;

/** Every job that matches, as far as anybody would act on so many at once. */
export async function allThatMatch(filters: JobFilters): Promise<BoardRow[]> {
  const rows: BoardRow[] = [];
  let cursor: string | null = null;
  do {
    const query: BoardQuery = { ...asQuery(filters), limit: 200, ...(cursor && { cursor }) };
    const page = await got(api.GET('/api/v1/jobs/board', { params: { query } }));
    rows.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && rows.length < ALL_LIMIT);
  return rows.slice(0, ALL_LIMIT);
}
