import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

export const ownSessionsQuery = queryOptions({
  queryKey: ['people', 'own-sessions'],
  queryFn: () => got(api.GET('/api/v1/auth/sessions')),
});
