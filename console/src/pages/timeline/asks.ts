import type { QueryClient } from '@tanstack/react-query';
import { groupsQuery } from '@/api/groups';
import { preference } from '@/app/preferences';
import { HOURS } from '@/pages/timeline/model';
import { askedFor, newestQuery, upcomingQuery } from '@/pages/timeline/queries';

/** For the last hours; what somebody zoomed to is asked for by the page. */
export function ask(queries: QueryClient, params: URLSearchParams): void {
  void queries.prefetchQuery(groupsQuery);
  void queries.prefetchQuery(upcomingQuery);
  if (params.has('from') || params.has('job_group')) return;
  const hours = HOURS.find((one) => one === params.get('hours')) ?? preference('timelineHours');
  void queries.prefetchQuery(newestQuery(askedFor(hours, null, undefined)));
}
