import type { QueryClient } from '@tanstack/react-query';
import { groupsQuery } from '@/api/groups';
import { serverNow } from '@/api/serverClock';
import { asQuery, FILTERS, KNOWN } from '@/pages/executions/filters';
import { executionsQuery, histogramQuery } from '@/pages/executions/queries';
import { filtersIn, notUnderstood, unknownIn } from '@/parts/useUrlFilters';

export function ask(queries: QueryClient, params: URLSearchParams): void {
  const filters = filtersIn(params, FILTERS);
  void queries.prefetchQuery(groupsQuery);
  const strange = [...notUnderstood(filters, asQuery(filters)), ...Object.keys(unknownIn(params, KNOWN))];
  if (strange.length > 0) return;
  void queries.prefetchInfiniteQuery(executionsQuery(filters));
  void queries.prefetchQuery(histogramQuery(filters, serverNow()));
}
