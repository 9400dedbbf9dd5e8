import { infiniteQueryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { ManyJobsDone, Taken } from '@/api/types';
import type { Definition } from '@/pages/jobs/definitions';
import { asQuery, type BoardQuery, type JobFilters } from '@/pages/jobs/filters';

/** Jobs with their last executions, who could run them and their next fires. */
export function boardQuery(filters: JobFilters) {
  return infiniteQueryOptions({
    queryKey: ['executions', 'board', filters],
    meta: { alsoToldBy: ['jobs', 'executors'] },
    queryFn: ({ pageParam }) =>
      got(
        api.GET('/api/v1/jobs/board', {
          params: { query: { ...asQuery(filters), limit: 50, ...(pageParam && { cursor: pageParam }) } },
        }),
      ),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => page.next_cursor,
  });
}

export type BulkDeed = 'start' | 'stop' | 'trigger' | 'delete';

export interface BulkAsked {
  cursor?: string | null;
  /** Under the same key nothing is run a second time. */
  key?: string;
}

/** Do something to the jobs that match, as many as the server does at once. */
export function doToMatching(deed: BulkDeed, filters: JobFilters, asked: BulkAsked = {}): Promise<ManyJobsDone> {
  const { cursor, key } = asked;
  const query = { ...everything(filters), ...(cursor && { cursor }) };
  const header = key === undefined ? {} : { 'idempotency-key': key };
  return got(api.POST(`/api/v1/jobs/bulk/${deed}`, { params: { query, header } }));
}

/** What the server takes for all jobs that match. */
export function everything(filters: JobFilters): BulkQuery {
  return { ...asQuery(filters), all: true };
}

export type BulkQuery = Omit<BoardQuery, 'limit' | 'cursor'> & { all?: boolean };

/** What would come of doing something to jobs: the server tries it and undoes it. */
export interface Would {
  jobs: ManyJobsDone['jobs'];
  refused: ManyJobsDone['refused'];
  /** Those that starting or stopping would not change. */
  skipped: number;
  /** Those that were not tried. */
  left: number;
}

/** So many jobs are tried before something is done to more: each is work for the server. */
const TRIED = 1_000;

export async function wouldDo(deed: BulkDeed, asked: BulkQuery, signal?: AbortSignal): Promise<Would> {
  const whole: Would = { jobs: [], refused: [], skipped: 0, left: 0 };
  for (const query of inParts(asked)) {
    let cursor: string | null = null;
    do {
      const part: ManyJobsDone = await got(
        api.POST(`/api/v1/jobs/bulk/${deed}`, {
          params: { query: { ...query, dry_run: true, ...(cursor && { cursor }) } },
          signal,
        }),
      );
      whole.jobs.push(...part.jobs);
      whole.refused.push(...part.refused);
      whole.left = part.left;
      if (cursor === null) whole.skipped += part.skipped; // counted from there on
      cursor = part.next_cursor;
    } while (cursor !== null && whole.jobs.length + whole.refused.length < TRIED);
  }
  return whole;
}

/** The same question in several, where it names more jobs than one request takes. */
function inParts(asked: BulkQuery): BulkQuery[] {
  const ids = asked.id ?? [];
  if (ids.length <= IDS_AT_ONCE) return [asked];
  return Array.from({ length: Math.ceil(ids.length / IDS_AT_ONCE) }, (_, part) => ({
    ...asked,
    id: ids.slice(part * IDS_AT_ONCE, (part + 1) * IDS_AT_ONCE),
  }));
}

/** Does something to these and only these; they are deleted in an order in which none is needed any more. */
export async function doToThese(deed: BulkDeed, ids: number[]): Promise<Pick<ManyJobsDone, 'job_ids' | 'refused'>> {
  const whole = { job_ids: [] as number[], refused: [] as ManyJobsDone['refused'] };
  let cursor: string | null = null;
  do {
    const query = { id: ids, ...(cursor && { cursor }) };
    const part: ManyJobsDone = await got(api.POST(`/api/v1/jobs/bulk/${deed}`, { params: { query } }));
    whole.job_ids.push(...part.job_ids);
    whole.refused.push(...part.refused);
    cursor = part.next_cursor;
  } while (cursor !== null);
  return whole;
}

const IDS_AT_ONCE = 200;

/** The definitions of these jobs, or of all that match; code included. */
export async function definitionsOf(which: readonly number[] | JobFilters): Promise<Definition[]> {
  if (!Array.isArray(which)) return pagesOf(asQuery(which as JobFilters));
  const found: Definition[] = [];
  for (let start = 0; start < which.length; start += IDS_AT_ONCE) {
    found.push(...(await pagesOf({ id: which.slice(start, start + IDS_AT_ONCE) })));
  }
  return found;
}

async function pagesOf(query: BoardQuery): Promise<Definition[]> {
  const found: Definition[] = [];
  let cursor: string | null = null;
  do {
    const asked: BoardQuery = { ...query, limit: 200, ...(cursor && { cursor }) };
    const page = await got(api.GET('/api/v1/jobs/definitions', { params: { query: asked } }));
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor);
  return found;
}

/** What would become of definitions. */
export function previewOf(jobs: Definition[], anyHandler: boolean): Promise<Taken> {
  const query = { dry_run: true, allow_unknown_handler: anyHandler };
  return got(api.POST('/api/v1/jobs/definitions', { params: { query }, body: { jobs } }));
}

/** Take definitions in, if what becomes of them is still what `plan` stands for. */
export function takeIn(jobs: Definition[], anyHandler: boolean, plan: string): Promise<Taken> {
  const params = { query: { allow_unknown_handler: anyHandler }, header: { 'if-match': plan } };
  return got(api.POST('/api/v1/jobs/definitions', { params, body: { jobs } }));
}
