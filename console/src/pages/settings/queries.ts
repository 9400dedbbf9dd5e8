import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

export const settingsQuery = queryOptions({
  queryKey: ['settings'],
  queryFn: () => got(api.GET('/api/v1/settings')),
  staleTime: 60_000,
});
