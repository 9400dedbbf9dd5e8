// What the dashboard asks for: all of it is told live.

import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

export const statsQuery = queryOptions({
  queryKey: ['executions', 'stats'],
  meta: { alsoToldBy: ['jobs', 'executors'], sums: true },
  queryFn: () => got(api.GET('/api/v1/stats')),
});

export const overviewQuery = queryOptions({
  queryKey: ['executions', 'overview'],
  meta: { alsoToldBy: ['jobs', 'executors'], sums: true },
  queryFn: () => got(api.GET('/api/v1/stats/overview')),
});

/** What the bars can span, the usual one first. Long spans are shown by the day. */
export const SPANS = ['24h', '7d', '30d', '90d'] as const;
export type Span = (typeof SPANS)[number];

const BUCKETS: Record<Span, 'hour' | 'day'> = { '24h': 'hour', '7d': 'hour', '30d': 'day', '90d': 'day' };

/** An address is typed by people: what is no span is the usual one. */
export function spanOf(text: string | undefined): Span {
  return SPANS.find((one) => one === text) ?? SPANS[0];
}

export function historyQuery(span: Span) {
  const query = { bucket: BUCKETS[span], since: span };
  return queryOptions({
    queryKey: ['executions', 'history', query],
    meta: { sums: true },
    queryFn: () => got(api.GET('/api/v1/stats/histogram', { params: { query } })),
    placeholderData: keepPreviousData,
  });
}

export const clusterQuery = queryOptions({
  queryKey: ['cluster'],
  queryFn: () => got(api.GET('/api/v1/cluster')),
});
