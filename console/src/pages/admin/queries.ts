// What administrators read and write. No event tells of these: what one changes is asked for again at once.

import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type User = Schemas['UserShown'];
export type Token = Schemas['TokenShown'];
export type TokenMade = Schemas['TokenMade'];
export type Secret = Schemas['orth__coordinator__http__secrets__SecretShown'];
export type AuditEntry = Schemas['EntryShown'];
export type AuditPage = Schemas['Page_EntryShown_'];

const paged = {
  initialPageParam: null as string | null,
  getNextPageParam: (page: { next_cursor: string | null }) => page.next_cursor,
};
const at = (cursor: string | null) => ({ limit: 50, ...(cursor && { cursor }) });

export const usersQuery = infiniteQueryOptions({
  queryKey: ['people', 'users'],
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/users', { params: { query: at(pageParam) } })),
  ...paged,
});

export function userSessionsQuery(userId: number) {
  return queryOptions({
    queryKey: ['people', 'sessions', userId],
    queryFn: () => got(api.GET('/api/v1/users/{user_id}/sessions', { params: { path: { user_id: userId } } })),
  });
}

export const tokensQuery = infiniteQueryOptions({
  queryKey: ['people', 'tokens'],
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/tokens', { params: { query: at(pageParam) } })),
  ...paged,
});

export const secretsQuery = infiniteQueryOptions({
  queryKey: ['people', 'secrets'],
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/secrets', { params: { query: at(pageParam) } })),
  ...paged,
});

export interface AuditFilters {
  actor?: string;
  action?: string;
  object?: string;
  since?: string;
}

export function auditQuery(filters: AuditFilters) {
  return infiniteQueryOptions({
    queryKey: ['people', 'audit', filters],
    queryFn: async ({ pageParam }) =>
      (await got(
        api.GET('/api/v1/audit', { params: { query: { ...filters, format: 'json', ...at(pageParam) } } }),
      )) as AuditPage,
    ...paged,
  });
}

/** The end of the chain: what one writes down elsewhere to find out later whether the audit was written anew. */
export const auditHeadQuery = queryOptions({
  queryKey: ['people', 'audit-head'],
  queryFn: () => got(api.GET('/api/v1/audit/head')),
});
