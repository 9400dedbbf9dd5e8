// Jobs that have code, and its versions.

import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type ScriptListed = Schemas['ScriptListed'];
export type Version = Schemas['VersionShown'];

const TOLD = { alsoToldBy: ['jobs'] } as const;

const paged = {
  initialPageParam: null as string | null,
  getNextPageParam: (page: { next_cursor: string | null }) => page.next_cursor,
};
const at = (cursor: string | null) => ({ limit: 50, ...(cursor && { cursor }) });

export const scriptsQuery = infiniteQueryOptions({
  queryKey: ['scripts', 'list'],
  meta: TOLD,
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/scripts', { params: { query: at(pageParam) } })),
  ...paged,
});

/** The newest 30 are kept, so one page has them all. */
export function versionsQuery(jobId: number) {
  return queryOptions({
    queryKey: ['scripts', 'versions', jobId],
    meta: TOLD,
    queryFn: () =>
      got(api.GET('/api/v1/scripts/{job_id}/versions', { params: { path: { job_id: jobId }, query: { limit: 200 } } })),
  });
}

/** A version never changes. */
export function versionQuery(jobId: number, versionId: number) {
  return queryOptions({
    queryKey: ['scripts', 'version', jobId, versionId],
    queryFn: () =>
      got(
        api.GET('/api/v1/scripts/{job_id}/versions/{version_id}', {
          params: { path: { job_id: jobId, version_id: versionId } },
        }),
      ),
    staleTime: Number.POSITIVE_INFINITY,
  });
}

export async function saveScript(jobId: number, etag: string, source: string, remark: string): Promise<void> {
  await got(
    api.PUT('/api/v1/scripts/{job_id}', {
      params: { path: { job_id: jobId }, header: { 'if-match': etag } },
      body: { glue_source: source, glue_remark: remark },
    }),
  );
}
