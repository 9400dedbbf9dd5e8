import type { QueryClient } from '@tanstack/react-query';
import { groupsQuery } from '@/api/groups';
import { asQuery, FILTERS } from '@/pages/jobs/filters';
import { boardQuery } from '@/pages/jobs/queries';
import { filtersIn, notUnderstood, unknownIn } from '@/parts/useUrlFilters';

export function ask(queries: QueryClient, params: URLSearchParams): void {
  const filters = filtersIn(params, FILTERS);
  void queries.prefetchQuery(groupsQuery);
  const strange = [...notUnderstood(filters, asQuery(filters)), ...Object.keys(unknownIn(params, FILTERS))];
  if (strange.length === 0) void queries.prefetchInfiniteQuery(boardQuery(filters));
}
