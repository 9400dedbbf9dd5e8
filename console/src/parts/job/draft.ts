// A definition that somebody is writing: what a new one begins with, what was changed, and what happens when two people
// changed the same job.

import type { Job, JobBody } from '@/api/types';

export type Draft = Required<JobBody>;
export type DraftField = keyof Draft;

/** In the order in which they are shown. A field that is added to the API and not here does not compile. */
const FIELDS: Record<DraftField, true> = {
  job_desc: true,
  job_group: true,
  author: true,
  tags: true,
  glue_type: true,
  executor_handler: true,
  super_task_id: true,
  glue_source: true,
  glue_remark: true,
  executor_param: true,
  secrets: true,
  schedule_type: true,
  schedule_conf: true,
  timezone: true,
  dst_policy: true,
  calendar_id: true,
  jitter: true,
  misfire_strategy: true,
  executor_route_strategy: true,
  label_selector: true,
  executor_queue: true,
  priority: true,
  executor_block_strategy: true,
  executor_concurrency: true,
  overlap: true,
  executor_timeout: true,
  executor_fail_retry_count: true,
  retry_policy: true,
  lost_after: true,
  child_jobid: true,
  child_param: true,
  child_per_shard: true,
  alarm_email: true,
  alarm_policy: true,
};
export const DRAFT_FIELDS = Object.keys(FIELDS) as DraftField[];

/** A new job as the server would make it, were nothing said. */
export function defaults(group: number): Draft {
  return {
    job_desc: '',
    job_group: group,
    author: '',
    tags: [],
    glue_type: 'BEAN',
    executor_handler: '',
    super_task_id: 0,
    glue_source: null,
    glue_remark: null,
    executor_param: '',
    secrets: [],
    schedule_type: 'NONE',
    schedule_conf: '',
    timezone: null,
    dst_policy: 'auto',
    calendar_id: null,
    jitter: 0,
    misfire_strategy: 'DO_NOTHING',
    executor_route_strategy: 'ROUND',
    label_selector: '',
    executor_queue: '',
    priority: 1,
    executor_block_strategy: 'SERIAL_EXECUTION',
    executor_concurrency: 1,
    overlap: 'cluster',
    executor_timeout: 0,
    executor_fail_retry_count: 0,
    retry_policy: null,
    lost_after: 0,
    child_jobid: [],
    child_param: 'own',
    child_per_shard: false,
    alarm_email: '',
    alarm_policy: null,
  };
}

/** A stored job as a draft. Its code has a page of its own: unsaid, it stays as it is. */
export function draftOf(job: Job): Draft {
  const kept = Object.fromEntries(DRAFT_FIELDS.map((field) => [field, job[field]])) as unknown as Draft;
  return { ...kept, glue_source: null, glue_remark: null };
}

export function same(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** What a form gives, as the API wants it: a number that was emptied is as unsaid, a schedule of nothing has no text. */
export function tidied(given: Draft): Draft {
  const plain = defaults(given.job_group);
  const draft = Object.fromEntries(
    DRAFT_FIELDS.map((field) => [field, given[field] ?? plain[field]]),
  ) as unknown as Draft;
  return {
    ...draft,
    job_desc: draft.job_desc.trim(),
    schedule_conf: draft.schedule_type === 'NONE' ? '' : draft.schedule_conf.trim(),
    executor_concurrency: draft.executor_block_strategy === 'CONCURRENT' ? draft.executor_concurrency : 1,
    retry_policy: draft.executor_fail_retry_count > 0 ? draft.retry_policy : null,
    ...(draft.glue_type === 'BEAN' && { glue_source: null, glue_remark: null }),
  };
}

export interface Change<Field extends DraftField = DraftField> {
  field: Field;
  before: Draft[Field];
  after: Draft[Field];
}

export function changesOf(before: Draft, after: Draft): Change[] {
  return DRAFT_FIELDS.filter((field) => !same(before[field], after[field])).map((field) => ({
    field,
    before: before[field],
    after: after[field],
  }));
}

/** Only what was changed, as the API takes it. */
export function patchOf(changes: readonly Change[]): Partial<JobBody> {
  return Object.fromEntries(changes.map(({ field, after }) => [field, after]));
}

export interface Conflict {
  field: DraftField;
  base: unknown;
  mine: unknown;
  theirs: unknown;
  /** Whose change it is. Where both changed it, and not to the same, somebody must choose. */
  by: 'mine' | 'theirs' | 'both';
}

/** What somebody else changed since `base`, and what one changed oneself. */
export function conflictsOf(base: Draft, mine: Draft, theirs: Draft): Conflict[] {
  return DRAFT_FIELDS.flatMap((field) => {
    const values = { field, base: base[field], mine: mine[field], theirs: theirs[field] };
    const [isMine, isTheirs] = [!same(values.base, values.mine), !same(values.base, values.theirs)];
    if (isMine && isTheirs) return { ...values, by: same(values.mine, values.theirs) ? 'theirs' : 'both' };
    return isMine || isTheirs ? { ...values, by: isMine ? 'mine' : 'theirs' } : [];
  });
}

/** One's own draft with the other's changes in it; where both changed something, `keep` says whose stays. */
export function merged(base: Draft, mine: Draft, theirs: Draft, keep: ReadonlySet<DraftField>): Draft {
  const taken = conflictsOf(base, mine, theirs).filter(
    ({ field, by }) => by === 'theirs' || (by === 'both' && !keep.has(field)),
  );
  return { ...mine, ...(Object.fromEntries(taken.map(({ field }) => [field, theirs[field]])) as Partial<Draft>) };
}
