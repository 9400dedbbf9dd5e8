import { queryOptions, useQuery } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { usePolling } from '@/live/LiveProvider';
import type { ProcessDeed } from '@/pages/lifecycle/processes';

export const processesQuery = queryOptions({
  queryKey: ['processes'],
  queryFn: () => got(api.GET('/api/v1/processes')),
});

/** How often they are asked for, where there are any: no event tells of processes. */
const LOOK_EVERY = 1_000;

export function useProcesses() {
  const every = usePolling(LOOK_EVERY);
  return useQuery({ ...processesQuery, refetchInterval: ({ state }) => (state.data?.supervised ? every : false) });
}

export async function askProcess(name: string, deed: ProcessDeed): Promise<void> {
  await got(api.POST(`/api/v1/processes/{name}/${deed}`, { params: { path: { name } } }));
}
