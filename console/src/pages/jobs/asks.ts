import type { QueryClient } from '@tanstack/react-query';
import { groupsQuery } from '@/api/groups';
import { asQuery, FILTERS } from '@/pages/jobs/filters';
import { boardQuery } from '@/pages/jobs/queries';
import { filtersIn, notUnderstood } from '@/parts/useUrlFilters';

export function ask(queries: QueryClient, params: URLSearchParams): void {
  const filters = filtersIn(params, FILTERS);
  void queries.prefetchQuery(groupsQuery);
  if (notUnderstood(filters, asQuery(filters)).length === 0) void queries.prefetchInfiniteQuery(boardQuery(filters));
}
