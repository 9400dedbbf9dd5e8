// The code of one job, as its own page and every form for its parameter ask for it. It is part of the job, so what is
// told of jobs is told of it.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { components } from '@/api/schema';
import { gotTagged } from '@/api/tagged';

type Schemas = components['schemas'];

export type Script = Schemas['ScriptShown'];
export type Header = Schemas['HeaderShown'];
export type CodeType = Schemas['GlueType'];

export function readScript(jobId: number) {
  return gotTagged(api.GET('/api/v1/scripts/{job_id}', { params: { path: { job_id: jobId } } }));
}

export function scriptQuery(jobId: number) {
  return queryOptions({
    queryKey: ['scripts', 'one', jobId],
    meta: { alsoToldBy: ['jobs', 'groups'] }, // a group allows scripts, or not
    queryFn: () => readScript(jobId),
  });
}

/** What code says of itself never changes. */
export function headerQuery(kind: CodeType, source: string) {
  return queryOptions({
    queryKey: ['scripts', 'header', kind, source],
    queryFn: () => got(api.POST('/api/v1/scripts/header', { body: { glue_type: kind, glue_source: source } })),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 10_000,
  });
}
