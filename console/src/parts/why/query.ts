import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

export function whyQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'why', id],
    queryFn: () => got(api.GET('/api/v1/executions/{execution_id}/why', { params: { path: { execution_id: id } } })),
  });
}
