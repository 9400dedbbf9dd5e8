// Jobs: what pages ask of them, and what is done to one. Where a job stands moves with its executions, so it is told by
// them.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { exactValue } from '@/api/exactJson';
import { problemOf } from '@/api/problem';
import type { Handler, InUse, Job, JobBody, LogLevel } from '@/api/types';

export function jobQuery(id: number) {
  return queryOptions({
    queryKey: ['executions', 'job', id],
    meta: { alsoToldBy: ['jobs'] },
    queryFn: () => got(api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: id } } })),
  });
}

export interface NamedJob {
  id: number;
  group: number;
  name: string;
}

function namedJob({ id, job_group, job_desc }: { id: number; job_group?: number; job_desc?: string | null }): NamedJob {
  return { id, group: job_group ?? 0, name: job_desc || `#${id}` };
}

/** Jobs with this in their name, or the first there are. */
export function jobsNamedQuery(text: string) {
  const query = { limit: 20, ...(text !== '' && { text }) };
  return queryOptions({
    queryKey: ['jobs', 'choices', text],
    queryFn: async () => {
      const { items } = await got(api.GET('/api/v1/jobs/board', { params: { query } }));
      return items.map(({ job }) => namedJob(job));
    },
    staleTime: 10_000,
  });
}

/** A job that something else names; null if it is gone, or in a group that one may not see. A list is asked, which
 * leaves out what is hidden: nobody has asked for it by name, so nobody is to be told of in the audit. */
async function mentionedJob(id: number) {
  const { items } = await got(api.GET('/api/v1/jobs/board', { params: { query: { id: [id], limit: 1 } } }));
  return items[0]?.job ?? null;
}

/** What one job is called and where it belongs, however often it runs. */
export function jobNameQuery(id: number) {
  return queryOptions({
    queryKey: ['jobs', 'name', id],
    queryFn: async () => {
      const job = await mentionedJob(id);
      return job && namedJob(job);
    },
    staleTime: 30_000,
  });
}

/** The handler that a job has from its super task; null where that one cannot be seen. */
export function superHandlerQuery(id: number) {
  return queryOptions({
    queryKey: ['jobs', 'super', id],
    queryFn: async () => {
      const job = await mentionedJob(id);
      return job && 'executor_handler' in job ? job.executor_handler : null;
    },
  });
}

export const NOTHING_IN_USE: InUse = { authors: [], tags: [] };

/** Who answers for jobs and what tags they have: what can be chosen from. */
export const inUseQuery = queryOptions({
  queryKey: ['jobs', 'in-use'],
  meta: { sums: true },
  queryFn: () => got(api.GET('/api/v1/jobs/in-use')),
});

/** What handlers take has numbers in it, which go into parameters: they are read as they are written. */
async function handlersOf(group: number): Promise<{ items: Handler[] }> {
  const params = { path: { group_id: group } };
  const text = await got(api.GET('/api/v1/groups/{group_id}/handlers', { params, parseAs: 'text' }));
  return exactValue(text) as { items: Handler[] };
}

export function handlersQuery(group: number) {
  return queryOptions({
    queryKey: ['groups', 'handlers', group],
    meta: { alsoToldBy: ['executors'] },
    queryFn: () => handlersOf(group),
    staleTime: 10_000,
  });
}

export function executorsQuery(appName: string) {
  return queryOptions({
    queryKey: ['executors', 'of', appName],
    queryFn: () => got(api.GET('/api/v1/executors', { params: { query: { app_name: appName, limit: 200 } } })),
  });
}

export interface Tagged {
  job: Job;
  /** Of this version: a change is made to it and to no other. */
  tag: string;
}

export async function readJob(id: number): Promise<Tagged> {
  const { data, error, response } = await api.GET('/api/v1/jobs/{job_id}', { params: { path: { job_id: id } } });
  if (!data) throw problemOf(response.status, response.statusText, error);
  return { job: data, tag: response.headers.get('ETag') ?? '*' };
}

export function createJob(body: JobBody, anyHandler: boolean): Promise<Job> {
  return got(api.POST('/api/v1/jobs', { params: { query: { allow_unknown_handler: anyHandler } }, body }));
}

export function changeJob(id: number, tag: string, changes: Partial<JobBody>, anyHandler: boolean): Promise<Job> {
  return got(
    api.PATCH('/api/v1/jobs/{job_id}', {
      params: {
        path: { job_id: id },
        query: { allow_unknown_handler: anyHandler },
        header: { 'if-match': tag },
      },
      body: changes,
    }),
  );
}

export async function startJob(id: number): Promise<void> {
  await got(api.POST('/api/v1/jobs/{job_id}/start', { params: { path: { job_id: id } } }));
}

export async function stopJob(id: number): Promise<void> {
  await got(api.POST('/api/v1/jobs/{job_id}/stop', { params: { path: { job_id: id } } }));
}

export async function deleteJob(id: number): Promise<void> {
  await got(api.DELETE('/api/v1/jobs/{job_id}', { params: { path: { job_id: id } } }));
}

export interface Once {
  param?: string;
  address?: string;
  logLevel?: LogLevel;
  /** Under the same key it is the same request. */
  key?: string;
}

/** Run a job now; the id of its execution, the first of several if it broadcasts. */
export async function triggerJob(
  id: number,
  { param, address, logLevel, key }: Once = {},
): Promise<number | undefined> {
  const done = await got(
    api.POST('/api/v1/jobs/{job_id}/trigger', {
      params: { path: { job_id: id }, header: key === undefined ? {} : { 'idempotency-key': key } },
      body: {
        ...(param !== undefined && { executor_param: param }),
        ...(address !== undefined && { address_list: [address] }),
        ...(logLevel !== undefined && { log_level: logLevel }),
      },
    }),
  );
  return done.execution_ids[0];
}
