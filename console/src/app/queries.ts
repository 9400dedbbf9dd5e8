// The cache of what the API said. The first part of a key is the subject that live changes are told by (see live/);
// what several tell of names the others.

import { type Query, QueryClient } from '@tanstack/react-query';
import { worthAsking } from '@/api/client';

/** What the server tells changes of. */
export type Subject = 'executions' | 'jobs' | 'groups' | 'executors' | 'services' | 'cluster' | 'alarms';

declare module '@tanstack/react-query' {
  interface Register {
    queryMeta: {
      alsoToldBy?: readonly Subject[];
      /** It only sums up: it is asked for every few seconds, however often something changes. */
      sums?: true;
    };
  }
}

/** Whether an answer may be another one after a change of a subject. */
export function isToldBy(subject: string, { queryKey, meta }: Pick<Query, 'queryKey' | 'meta'>): boolean {
  return queryKey[0] === subject || !!meta?.alsoToldBy?.some((one) => one === subject);
}

export function makeQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: { retry: worthAsking, staleTime: 2_000, gcTime: 300_000, refetchOnWindowFocus: true },
      mutations: { retry: false },
    },
  });
}
