// What a change of a job was about, as its history tells it.

import type { JobChange } from '@/api/types';
import { DRAFT_FIELDS, type Draft, type DraftField } from '@/parts/job/draft';

export interface FieldChange {
  field: DraftField;
  before: unknown;
  after: unknown;
}

/** The fields that differ, in the order of the editor. Of the first definition there is nothing to compare. */
export function fieldChanges({ action, before, after }: JobChange): FieldChange[] {
  if (action !== 'job.update' || !before || !after) return [];
  return DRAFT_FIELDS.filter((field) => field in before || field in after).map((field) => ({
    field,
    before: before[field],
    after: after[field],
  }));
}

/** The definition as it was before the change `seq`: that one and all that came after it are taken back. `changes` are
 * the newest first. Code is not taken back: it has versions of its own. */
export function asBefore(draft: Draft, changes: readonly JobChange[], seq: number): Draft {
  const undone = changes.filter((one) => one.seq >= seq).flatMap(fieldChanges);
  const values = undone.filter(({ field }) => field !== 'glue_source' && field !== 'glue_remark');
  return { ...draft, ...Object.fromEntries(values.map(({ field, before }) => [field, before])) };
}
