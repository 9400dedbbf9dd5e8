import type { QueryClient } from '@tanstack/react-query';
import { groupsQuery } from '@/api/groups';
import { serverNow } from '@/api/serverClock';
import { asQuery, FILTERS } from '@/pages/executions/filters';
import { executionsQuery, histogramQuery } from '@/pages/executions/queries';
import { filtersIn, notUnderstood } from '@/parts/useUrlFilters';

export function ask(queries: QueryClient, params: URLSearchParams): void {
  const filters = filtersIn(params, FILTERS);
  void queries.prefetchQuery(groupsQuery);
  if (notUnderstood(filters, asQuery(filters)).length > 0) return;
  void queries.prefetchInfiniteQuery(executionsQuery(filters));
  void queries.prefetchQuery(histogramQuery(filters, serverNow()));
}
