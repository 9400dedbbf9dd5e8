// What the palette looks through. Jobs come at once as long as there are not too many; beyond that the server looks too.

import { queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import { runJob } from '@/api/executions';

const FIRST = 200;
const FURTHER = 8;

export interface FoundJob {
  id: number;
  group: number;
  name: string;
  started: boolean;
  scheduled: boolean;
}

interface Told {
  id: number;
  job_group: number;
  job_desc: string;
  trigger_status?: number;
  schedule_type?: string;
}

function foundJob(job: Told): FoundJob {
  const scheduled = job.schedule_type !== undefined && job.schedule_type !== 'NONE';
  return { id: job.id, group: job.job_group, name: job.job_desc, started: job.trigger_status === 1, scheduled };
}

export const jobsQuery = queryOptions({
  queryKey: ['jobs', 'palette'],
  queryFn: async () => {
    const page = await got(api.GET('/api/v1/jobs', { params: { query: { limit: FIRST } } }));
    return { jobs: page.items.map(foundJob), more: page.next_cursor !== null };
  },
  staleTime: 10_000,
});

export function foundJobsQuery(text: string) {
  return queryOptions({
    queryKey: ['jobs', 'palette', text],
    queryFn: async () => {
      const query = { text: text.slice(0, 200), limit: FURTHER };
      const page = await got(api.GET('/api/v1/jobs/board', { params: { query } }));
      return page.items.map(({ job }) => foundJob(job));
    },
    placeholderData: (before) => before,
    staleTime: 10_000,
  });
}

export const paletteExecutorsQuery = queryOptions({
  queryKey: ['executors', 'palette'],
  queryFn: () => got(api.GET('/api/v1/executors', { params: { query: { limit: FIRST } } })),
  staleTime: 10_000,
});

/** Do it; the execution that was opened, if one was. */
export async function doToJob(what: 'run' | 'start' | 'stop', id: number): Promise<number | undefined> {
  if (what === 'run') return runJob(id);
  const params = { path: { job_id: id } };
  await got(
    what === 'start'
      ? api.POST('/api/v1/jobs/{job_id}/start', { params })
      : api.POST('/api/v1/jobs/{job_id}/stop', { params }),
  );
  return undefined;
}
