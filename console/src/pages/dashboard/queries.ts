// What the dashboard asks for. Ends and openings of executions are told live; the rest is asked again now and then.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

export const statsQuery = queryOptions({
  queryKey: ['executions', 'stats'],
  queryFn: () => got(api.GET('/api/v1/stats')),
});

export const overviewQuery = queryOptions({
  queryKey: ['executions', 'overview'],
  queryFn: () => got(api.GET('/api/v1/stats/overview')),
});

export const hoursQuery = queryOptions({
  queryKey: ['executions', 'hours'],
  queryFn: () => got(api.GET('/api/v1/stats/histogram', { params: { query: { bucket: 'hour' } } })),
});

export const clusterQuery = queryOptions({
  queryKey: ['cluster'],
  queryFn: () => got(api.GET('/api/v1/cluster')),
});
