import { useQuery } from '@tanstack/react-query';
import { executionQuery } from '@/api/executions';
import { usePolling } from '@/live/LiveProvider';
import { asBegun } from '@/pages/execution/phases';
import { firstLineQuery } from '@/pages/execution/queries';
import { TERMINAL } from '@/status/statuses';

/** How often an open one is looked at: no event tells of progress, nor that it began on its executor. */
const LOOK_EVERY = 2_000;

/** One execution; that it changed its status is told, the rest is asked for while it is open. */
export function useExecution(id: number) {
  const every = usePolling(LOOK_EVERY);
  const one = useQuery({
    ...executionQuery(id),
    refetchInterval: ({ state }) => (state.data && !TERMINAL[state.data.status] ? every : false),
  });
  const taken = one.data?.phase === 'dispatched' || one.data?.phase === 'queued';
  const first = useQuery({
    ...firstLineQuery(id),
    enabled: taken,
    refetchInterval: ({ state }) => (taken && !state.data ? every : false),
  });
  return { ...one, data: one.data && asBegun(one.data, first.data ?? null) };
}
