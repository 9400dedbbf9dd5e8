import { describe, expect, it } from 'vitest';
import { AT_ONCE, fileOf, readFile } from '@/pages/jobs/definitions';

const JOBS = [{ job_desc: 'one', job_group: 'demo' }, { job_desc: 'two' }];

describe('a file of definitions', () => {
  it('is read as it was written', () => {
    expect(readFile(fileOf(JOBS))).toEqual(JOBS);
  });

  it('may be a list alone', () => {
    expect(readFile(JSON.stringify(JOBS))).toEqual(JOBS);
  });

  it.each(['', 'jobs: []', '{"jobs": [}'])('is JSON, not %j', (text) => {
    expect(readFile(text)).toBe('notJson');
  });

  it.each(['[]', '{}', '{"jobs": {}}', '"text"', '7', 'null', '[1]', '[[]]', '{"jobs": [null]}'])(
    'has jobs, not %j',
    (text) => expect(readFile(text)).toBe('noJobs'),
  );

  it('has no more than are taken in at once', () => {
    const many = Array.from({ length: AT_ONCE + 1 }, () => ({}));
    expect(readFile(fileOf(many))).toBe('tooMany');
    expect(readFile(fileOf(many.slice(1)))).toHaveLength(AT_ONCE);
  });
});
