// What the timeline asks for. The newest executions and the open ones are told live; those before them, which hardly
// change any more, and the coming fires are asked for now and then.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { Execution, ExecutionsPage } from '@/api/types';
import { type Hours, MINUTE, type Span } from '@/pages/timeline/model';

const PAGE = 200;
const PAGES = 5;
export const MOST = PAGE * PAGES;

/** Executions of a span: opened since then, until then, in a group. */
export interface Asked {
  since: string;
  until?: string | undefined;
  job_group?: number | undefined;
}

/** Minutes before a span: much that was opened then reaches into it. */
const EARLIER = 15;
/** Pages in which what was opened before that and ended in the span, or after it, is looked for. */
const EARLIER_PAGES = 5;

/** What may lie in the last hours, or in the span that was zoomed to. */
export function askedFor(hours: Hours, zoom: Span | null, job_group: number | undefined): Asked {
  if (!zoom) return { since: `${Number(hours) * 60 + EARLIER}m`, job_group };
  const [since, until] = [zoom.from - EARLIER * MINUTE, zoom.to].map((at) => new Date(at).toISOString());
  return { since: since as string, until, job_group };
}

export function newestQuery(asked: Asked) {
  return queryOptions({
    queryKey: ['executions', 'timeline', 'newest', asked],
    queryFn: () => got(api.GET('/api/v1/executions', { params: { query: { ...asked, limit: PAGE } } })),
    placeholderData: (before) => before,
  });
}

/** What is open may have begun long before the span. */
export function openQuery(job_group: number | undefined) {
  const query = { job_group, status: ['pending' as const], limit: PAGE };
  return queryOptions({
    queryKey: ['executions', 'timeline', 'open', query],
    queryFn: () => got(api.GET('/api/v1/executions', { params: { query } })),
  });
}

/** The executions of a span up to a limit, and whether there are more; the newest of them are asked for only once. */
export function allQuery(asked: Asked) {
  return queryOptions({
    queryKey: ['timeline', 'all', asked],
    queryFn: async ({ client }): Promise<{ items: Execution[]; more: boolean }> => {
      const newest = await client.fetchQuery(newestQuery(asked));
      const items = [...newest.items];
      let cursor = newest.next_cursor;
      for (let page = 1; page < PAGES && cursor !== null; page += 1) {
        const query = { ...asked, limit: PAGE, cursor };
        const found: ExecutionsPage = await got(api.GET('/api/v1/executions', { params: { query } }));
        items.push(...found.items);
        cursor = found.next_cursor;
      }
      return { items, more: cursor !== null };
    },
    placeholderData: (before) => before,
  });
}

/** What was opened longer ago than `allQuery` looks, and had not ended when the span began. */
export function earlierQuery(hours: Hours, zoom: Span | null, job_group: number | undefined) {
  const until = askedFor(hours, zoom, job_group).since;
  const ended_since = zoom ? new Date(zoom.from).toISOString() : `${Number(hours) * 60}m`;
  const asked = { until, ended_since, job_group, limit: PAGE };
  return queryOptions({
    queryKey: ['timeline', 'earlier', asked],
    queryFn: async (): Promise<{ items: Execution[]; more: boolean }> => {
      const items: Execution[] = [];
      let cursor: string | null = null;
      for (let page = 0; page < EARLIER_PAGES && (page === 0 || cursor !== null); page += 1) {
        const query = { ...asked, ...(cursor && { cursor }) };
        const found: ExecutionsPage = await got(api.GET('/api/v1/executions', { params: { query } }));
        items.push(...found.items);
        cursor = found.next_cursor;
      }
      return { items, more: cursor !== null };
    },
    placeholderData: (before) => before,
  });
}

export const upcomingQuery = queryOptions({
  queryKey: ['timeline', 'upcoming'],
  queryFn: () => got(api.GET('/api/v1/schedules/upcoming', { params: { query: { minutes: 60 } } })),
});
