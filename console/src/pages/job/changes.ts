// What a change of a job was about, as its history tells it.

import type { JobChange } from '@/api/types';
import { DRAFT_FIELDS, type DraftField } from '@/parts/job/draft';

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
