// One execution, and what is done to it.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';

/** Progress is told by nobody: it is asked for while something runs. */
export function executionQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'one', id],
    queryFn: () => got(api.GET('/api/v1/executions/{execution_id}', { params: { path: { execution_id: id } } })),
  });
}

/** Do it again as it was; the id of the new one. Under the same key it is the same request. */
export async function retryOne(id: number): Promise<number> {
  const params = { path: { execution_id: id } };
  const done = await got(api.POST('/api/v1/executions/{execution_id}/retry', { params }));
  return done.execution_ids[0] ?? id;
}

/** One of several: not where it failed and was tried again since, or each attempt at the same would be done again. */
export async function retryOnce(id: number, key: string): Promise<void> {
  const params = { path: { execution_id: id }, query: { once: true }, header: { 'idempotency-key': key } };
  await got(api.POST('/api/v1/executions/{execution_id}/retry', { params }));
}

export async function killOne(id: number): Promise<void> {
  await got(api.POST('/api/v1/executions/{execution_id}/kill', { params: { path: { execution_id: id } } }));
}

/** Run a job now; the id of the first execution. */
export async function runJob(jobId: number): Promise<number | undefined> {
  const done = await got(
    api.POST('/api/v1/jobs/{job_id}/trigger', {
      params: { path: { job_id: jobId } },
      body: {},
    }),
  );
  return done.execution_ids[0];
}
