// What the cluster page asks for. Who leads, who is there and what changes hands is told live; ages and the lease are
// asked for now and then.

import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { serverNow } from '@/api/serverClock';
import type { Cluster } from '@/api/types';

/** What was answered, and when by this browser's clock: ages are counted on from there. */
export interface ClusterSeen extends Cluster {
  answeredAt: number;
}

export const clusterQuery = queryOptions({
  queryKey: ['cluster', 'now'],
  queryFn: async (): Promise<ClusterSeen> => {
    const shown = await got(api.GET('/api/v1/cluster'));
    return { ...shown, answeredAt: serverNow() };
  },
});

export const termsQuery = queryOptions({
  queryKey: ['cluster', 'terms'],
  queryFn: () => got(api.GET('/api/v1/cluster/terms', { params: { query: { limit: 8 } } })),
});

export const waitingQuery = queryOptions({
  queryKey: ['cluster', 'waiting'],
  queryFn: () => got(api.GET('/api/v1/cluster/waiting', { params: { query: { limit: 50 } } })),
});

export const handoffsQuery = infiniteQueryOptions({
  queryKey: ['cluster', 'handoffs'],
  queryFn: ({ pageParam }) =>
    got(
      api.GET('/api/v1/cluster/handoffs', {
        params: { query: { limit: 20, ...(pageParam && { cursor: pageParam }) } },
      }),
    ),
  initialPageParam: null as string | null,
  getNextPageParam: (page) => page.next_cursor,
});

export async function drainNode(node: string): Promise<void> {
  await got(api.POST('/api/v1/cluster/nodes/{node_id}/drain', { params: { path: { node_id: node } } }));
}

export async function stepDown(): Promise<string> {
  return (await got(api.POST('/api/v1/cluster/step-down'))).node;
}
