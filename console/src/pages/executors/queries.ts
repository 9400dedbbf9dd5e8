// What the executors page asks for. Who comes and goes is told live; beats and loads are asked for now and then.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { serverNow } from '@/api/serverClock';
import type { Executor, ExecutorKey, Group, GroupDialect } from '@/api/types';
import { type BeatRules, USUAL } from '@/parts/time/staleness';

const AT_ONCE = 200;

export interface ExecutorsSeen {
  items: Executor[];
  /** By this browser's clock: ages are counted on from there. */
  answeredAt: number;
  fromMemory: boolean;
  rules: BeatRules;
}

/** All of them: a page shows them by group, and counts them. */
export const executorsQuery = queryOptions({
  queryKey: ['executors', 'all'],
  queryFn: async (): Promise<ExecutorsSeen> => {
    const items: Executor[] = [];
    let rules = USUAL;
    let cursor: string | null | undefined;
    do {
      const query = { limit: AT_ONCE, ...(cursor && { cursor }) };
      const page = await got(api.GET('/api/v1/executors', { params: { query } }));
      items.push(...page.items);
      cursor = page.next_cursor;
      rules = { every: page.rules.heartbeat * 1_000, dead: page.rules.dead_after * 1_000 };
      if (page.from_memory) return { items, answeredAt: serverNow(), fromMemory: true, rules };
    } while (cursor && items.length < 5_000);
    return { items, answeredAt: serverNow(), fromMemory: false, rules };
  },
});

/** No event tells that one is among these: a coordinator notices when it next looks who is gone. */
export const removedQuery = queryOptions({
  queryKey: ['executors', 'removed'],
  queryFn: () => got(api.GET('/api/v1/executors', { params: { query: { removed: true, limit: 50 } } })),
});

export const unclaimedQuery = queryOptions({
  queryKey: ['executors', 'unclaimed'],
  meta: { alsoToldBy: ['groups'] },
  queryFn: () => got(api.GET('/api/v1/executors/unclaimed')),
});

export const groupsQuery = queryOptions({
  queryKey: ['groups', 'shown'],
  meta: { alsoToldBy: ['executors'] },
  queryFn: () => got(api.GET('/api/v1/groups', { params: { query: { limit: AT_ONCE } } })),
});

/** Executors by their keys: whoever waits to be admitted is in here only. */
export const executorKeysQuery = queryOptions({
  queryKey: ['executors', 'keys'],
  queryFn: () => got(api.GET('/api/v1/executor-keys', { params: { query: { limit: AT_ONCE } } })),
});

export async function admit({ id }: ExecutorKey): Promise<void> {
  await got(api.POST('/api/v1/executor-keys/{executor_id}/admit', { params: { path: { executor_id: id } } }));
}

export async function revoke({ id }: ExecutorKey): Promise<void> {
  await got(api.POST('/api/v1/executor-keys/{executor_id}/revoke', { params: { path: { executor_id: id } } }));
}

export async function adopt(appName: string): Promise<void> {
  await got(
    api.POST('/api/v1/executors/unclaimed/{app_name}/adopt', { params: { path: { app_name: appName } }, body: null }),
  );
}

export function ping({ app_name, address }: Pick<Executor, 'app_name' | 'address'>) {
  return got(api.POST('/api/v1/executors/ping', { body: { app_name, address } }));
}

/** Keep new work away from it, or let it have some again. */
export async function drain({ app_name, address }: Executor, wanted: boolean): Promise<void> {
  const body = { app_name, address };
  await got(wanted ? api.POST('/api/v1/executors/drain', { body }) : api.POST('/api/v1/executors/resume', { body }));
}

export async function remove({ app_name, address }: Executor): Promise<void> {
  await got(api.POST('/api/v1/executors/remove', { body: { app_name, address } }));
}

/** Whether code of jobs may be written and run in a group; everything else of it stays. */
export async function allowScripts(group: Group, allowed: boolean): Promise<void> {
  const { id, app_name, title, address_type, address_list, dialect } = group;
  const addresses = address_type === 1 ? address_list : [];
  await got(
    api.PUT('/api/v1/groups/{group_id}', {
      params: { path: { group_id: id } },
      body: {
        app_name,
        title,
        address_type: address_type === 1 ? 1 : 0,
        address_list: addresses,
        dialect: dialect as GroupDialect,
        scripts_allowed: allowed,
      },
    }),
  );
}
