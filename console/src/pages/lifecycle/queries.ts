import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { ProcessDeed } from '@/pages/lifecycle/processes';

/** No event tells of processes: where there are any, they are asked for now and then. */
export const processesQuery = queryOptions({
  queryKey: ['processes'],
  queryFn: () => got(api.GET('/api/v1/processes')),
  refetchInterval: ({ state }) => (state.data?.supervised ? 2_000 : false),
});

export async function askProcess(name: string, deed: ProcessDeed): Promise<void> {
  await got(api.POST(`/api/v1/processes/{name}/${deed}`, { params: { path: { name } } }));
}
