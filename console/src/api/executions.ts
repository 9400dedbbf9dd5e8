// What is done to one execution.

import { api, got } from '@/api/client';

/** Do it again as it was; the id of the new one. Under the same key it is the same request. */
export async function retryOne(id: number, key?: string): Promise<number> {
  const header = key === undefined ? {} : { 'idempotency-key': key };
  const params = { path: { execution_id: id }, header };
  const done = await got(api.POST('/api/v1/executions/{execution_id}/retry', { params }));
  return done.execution_ids[0] ?? id;
}

export async function killOne(id: number): Promise<void> {
  await got(api.POST('/api/v1/executions/{execution_id}/kill', { params: { path: { execution_id: id } } }));
}

/** Run a job now, with another parameter if one is given; the id of the first execution. */
export async function runJob(jobId: number, param?: string): Promise<number | undefined> {
  const done = await got(
    api.POST('/api/v1/jobs/{job_id}/trigger', {
      params: { path: { job_id: jobId } },
      body: { ...(param !== undefined && { executor_param: param }) },
    }),
  );
  return done.execution_ids[0];
}
