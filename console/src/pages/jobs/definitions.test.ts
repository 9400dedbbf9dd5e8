import { describe, expect, it } from 'vitest';
import { AT_ONCE, fileOf, PART_SIZE, partsOf, readFile, toldTwice } from '@/pages/jobs/definitions';

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

  it('may have more than are taken in at once', () => {
    expect(readFile(fileOf(Array.from({ length: AT_ONCE + 1 }, () => ({}))))).toHaveLength(AT_ONCE + 1);
  });
});

describe('a file too large for one request', () => {
  const job = (number: number, ...children: number[]) => ({
    job_group: 'demo',
    job_desc: `job ${number}`,
    child_jobid: children.map((child) => `demo/job ${child}`),
  });

  it('is one part while it fits, in its own order', () => {
    const jobs = [job(1, 2), job(2)];
    expect(partsOf(jobs)).toEqual([jobs]);
  });

  it('is taken in in parts, none before what it names', () => {
    const last = 2 * AT_ONCE;
    const jobs = Array.from({ length: last + 1 }, (_, number) =>
      number < last ? job(number, number + 1) : job(number),
    );
    const parts = partsOf(jobs);
    expect(parts.map((part) => part.length)).toEqual([AT_ONCE, AT_ONCE, 1]);
    expect(parts.flat()).toEqual([...jobs].reverse());
  });

  it('is bounded by its size too', () => {
    const jobs = [1, 2, 3].map((number) => ({ ...job(number), glue_source: 'é'.repeat(PART_SIZE / 5) }));
    expect(partsOf(jobs).map((part) => part.length)).toEqual([2, 1]);
  });

  it('goes through a ring once', () => {
    const ring = Array.from({ length: AT_ONCE + 1 }, (_, number) => job(number, (number + 1) % (AT_ONCE + 1)));
    expect(new Set(partsOf(ring).flat()).size).toBe(AT_ONCE + 1);
  });

  it('tells of each job once', () => {
    expect(toldTwice([job(1), job(2), job(3)])).toBeNull();
    expect(toldTwice([job(1), job(2), { ...job(2), executor_timeout: 7 }])).toEqual({ one: 2, other: 3 });
    expect(toldTwice([{}, {}])).toBeNull();
  });
});
