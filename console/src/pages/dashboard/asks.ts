import type { QueryClient } from '@tanstack/react-query';
import { historyQuery, overviewQuery, spanOf, statsQuery } from '@/pages/dashboard/queries';

export function ask(queries: QueryClient, params: URLSearchParams): void {
  void queries.prefetchQuery(statsQuery);
  void queries.prefetchQuery(overviewQuery);
  void queries.prefetchQuery(historyQuery(spanOf(params.get('span') ?? undefined)));
}
