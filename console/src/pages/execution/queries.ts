import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

/** Progress is told by nobody: it is asked for while something runs. */
export function executionQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'one', id],
    queryFn: () => got(api.GET('/api/v1/executions/{execution_id}', { params: { path: { execution_id: id } } })),
  });
}

export function relativesQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'relatives', id],
    queryFn: () =>
      got(api.GET('/api/v1/executions/{execution_id}/relatives', { params: { path: { execution_id: id } } })),
  });
}

export function whyQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'why', id],
    queryFn: () => got(api.GET('/api/v1/executions/{execution_id}/why', { params: { path: { execution_id: id } } })),
  });
}
