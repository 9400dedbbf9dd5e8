import { describe, expect, it } from 'vitest';
import type { JobChange } from '@/api/types';
import { asBefore, fieldChanges } from '@/parts/job/changes';
import { defaults } from '@/parts/job/draft';

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

describe('a definition as it was before a change', () => {
  const now = { ...defaults(1), job_desc: 'newest', executor_timeout: 60, author: 'ann' };
  const changes = [
    change({ seq: 9, before: { job_desc: 'newer' }, after: { job_desc: 'newest' } }),
    change({ seq: 8, action: 'job.stop' }),
    change({
      seq: 5,
      before: { job_desc: 'old', executor_timeout: 0 },
      after: { job_desc: 'newer', executor_timeout: 60 },
    }),
    change({ seq: 2, before: { author: '' }, after: { author: 'ann' } }),
  ];

  it('takes back that change and all that came after it', () => {
    expect(asBefore(now, changes, 9)).toEqual({ ...now, job_desc: 'newer' });
    expect(asBefore(now, changes, 5)).toEqual({ ...now, job_desc: 'old', executor_timeout: 0 });
    expect(asBefore(now, changes, 2)).toEqual({ ...now, job_desc: 'old', executor_timeout: 0, author: '' });
  });

  it('leaves the code alone, which has versions of its own', () => {
    expect(asBefore(now, [change({ seq: 3, before: { glue_source: 'x' }, after: { glue_source: 'y' } })], 3)).toEqual(
      now,
    );
  });
});
