import type { QueryClient } from '@tanstack/react-query';
import { executorsQuery, groupsQuery } from '@/pages/executors/queries';

export function ask(queries: QueryClient): void {
  void queries.prefetchQuery(executorsQuery);
  void queries.prefetchQuery(groupsQuery);
}
