// What somebody who helps wants to know, in one file: settings without their secrets, who is there, and counts. No
// parameters, no code, no logs.

import { api, got } from '@/api/client';

/** What is asked, by the name it has in the file. */
const ASKED = {
  settings: () => got(api.GET('/api/v1/settings')),
  cluster: () => got(api.GET('/api/v1/cluster')),
  terms: () => got(api.GET('/api/v1/cluster/terms', { params: { query: { limit: 20 } } })),
  waiting: () => got(api.GET('/api/v1/cluster/waiting', { params: { query: { limit: 50 } } })),
  handoffs: () => got(api.GET('/api/v1/cluster/handoffs', { params: { query: { limit: 50 } } })),
  executors: () => got(api.GET('/api/v1/executors', { params: { query: { limit: 200 } } })),
  unclaimed: () => got(api.GET('/api/v1/executors/unclaimed')),
  groups: () => got(api.GET('/api/v1/groups', { params: { query: { limit: 200 } } })),
  stats: () => got(api.GET('/api/v1/stats')),
} satisfies Record<string, () => Promise<unknown>>;

/** All answers, each under its name. One that does not come is told by why: the rest is of use without it. */
export async function diagnose(
  asked: Record<string, () => Promise<unknown>> = ASKED,
): Promise<Record<string, unknown>> {
  const found = await Promise.all(
    Object.entries(asked).map(async ([name, ask]) => {
      const answer = await ask().catch((error: unknown) => ({ not_answered: String(error) }));
      return [name, answer] as const;
    }),
  );
  return Object.fromEntries(found);
}
