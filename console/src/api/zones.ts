// The time zones that schedules may be in, by their names.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

export const zonesQuery = queryOptions({
  queryKey: ['zones'],
  queryFn: async () => (await got(api.GET('/api/v1/schedules/zones'))).items,
  staleTime: Number.POSITIVE_INFINITY,
});
