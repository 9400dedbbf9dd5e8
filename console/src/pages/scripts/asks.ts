import type { QueryClient } from '@tanstack/react-query';
import { groupsQuery } from '@/api/groups';
import { scriptsQuery } from '@/pages/scripts/queries';

export function ask(queries: QueryClient): void {
  void queries.prefetchQuery(groupsQuery);
  void queries.prefetchInfiniteQuery(scriptsQuery);
}
