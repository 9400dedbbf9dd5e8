// The cache of what the API said. The first part of a key is the subject that live changes are told by (see live/).

import { QueryClient } from '@tanstack/react-query';
import { worthAsking } from '@/api/client';

export type Subject = 'executions' | 'services' | 'cluster' | 'jobs' | 'groups' | 'alarms' | 'session';

export function makeQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: worthAsking, staleTime: 2_000, gcTime: 300_000, refetchOnWindowFocus: true },
      mutations: { retry: false },
    },
  });
}
