import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { told } from '@/parts/log/lines';

export function relativesQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'relatives', id],
    queryFn: () =>
      got(api.GET('/api/v1/executions/{execution_id}/relatives', { params: { path: { execution_id: id } } })),
  });
}

/** When the log of an execution begins; null while it has no line, or where lines do not say. */
export function firstLineQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'first-line', id],
    queryFn: async () => {
      const params = { path: { execution_id: id }, query: { from: 1, limit: 1 } };
      const page = await got(api.GET('/api/v1/executions/{execution_id}/log', { params }));
      const at = page.to_line >= page.from_line ? told(page.content).at : null;
      return at === null ? null : new Date(at).toISOString();
    },
  });
}
