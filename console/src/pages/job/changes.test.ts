import { describe, expect, it } from 'vitest';
import type { JobChange } from '@/api/types';
import { fieldChanges } from '@/pages/job/changes';

const change = (given: Partial<JobChange>) =>
  ({ seq: 1, at: '', actor: 'admin', action: 'job.update', before: null, after: null, ...given }) as JobChange;

describe('a change of a job', () => {
  it('names the fields that differ, in the order of the editor', () => {
    const fields = fieldChanges(
      change({
        before: { executor_timeout: 0, job_desc: 'old', gone: 1 },
        after: { executor_timeout: 60, job_desc: 'new' },
      }),
    );
    expect(fields).toEqual([
      { field: 'job_desc', before: 'old', after: 'new' },
      { field: 'executor_timeout', before: 0, after: 60 },
    ]);
  });

  it('has nothing to compare where it was begun, or where it may not be seen', () => {
    expect(fieldChanges(change({ action: 'job.create', after: { job_desc: 'new' } }))).toEqual([]);
    expect(fieldChanges(change({}))).toEqual([]);
  });
});
