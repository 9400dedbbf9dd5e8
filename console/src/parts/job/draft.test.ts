import { describe, expect, it } from 'vitest';
import { changesOf, conflictsOf, DRAFT_FIELDS, defaults, merged, patchOf, same, tidied } from '@/parts/job/draft';

const BASE = { ...defaults(1), job_desc: 'Nightly report', executor_handler: 'report', executor_timeout: 60 };

describe('a draft', () => {
  it('has every field once', () => {
    expect(new Set(DRAFT_FIELDS).size).toBe(DRAFT_FIELDS.length);
    expect(Object.keys(defaults(1)).sort()).toEqual([...DRAFT_FIELDS].sort());
  });

  it('tells what was changed, and sends nothing else', () => {
    const after = { ...BASE, executor_timeout: 600, child_jobid: [3] };
    expect(changesOf(BASE, after)).toEqual([
      { field: 'executor_timeout', before: 60, after: 600 },
      { field: 'child_jobid', before: [], after: [3] },
    ]);
    expect(patchOf(changesOf(BASE, after))).toEqual({ executor_timeout: 600, child_jobid: [3] });
    expect(changesOf(BASE, { ...BASE })).toEqual([]);
  });

  it('compares what is inside, and takes unsaid for null', () => {
    expect(same({ delay: 3 }, { delay: 3 })).toBe(true);
    expect(same(undefined, null)).toBe(true);
    expect(same(0, '')).toBe(false);
  });
});

describe('what a form gives', () => {
  it('is tidied before it is compared or sent', () => {
    const given = {
      ...BASE,
      job_desc: ' x ',
      schedule_conf: '0 0 2 * * ?',
      executor_timeout: null as unknown as number,
    };
    expect(tidied(given)).toMatchObject({ job_desc: 'x', schedule_conf: '', executor_timeout: 0 });
    expect(tidied({ ...BASE, schedule_type: 'CRON', schedule_conf: ' 0 2 * * * ' }).schedule_conf).toBe('0 2 * * *');
  });

  it('says nothing of what does not count', () => {
    const policy = { delay: 5 };
    expect(tidied({ ...BASE, executor_concurrency: 8, retry_policy: policy })).toEqual(BASE);
    const retried = tidied({ ...BASE, executor_fail_retry_count: 2, retry_policy: policy });
    expect(retried.retry_policy).toEqual(policy);
    const four = tidied({ ...BASE, executor_block_strategy: 'CONCURRENT', executor_concurrency: 4 });
    expect(four.executor_concurrency).toBe(4);
  });
});

describe('two people at one job', () => {
  const mine = { ...BASE, job_desc: 'Report of the night', executor_timeout: 300 };
  const theirs = { ...BASE, executor_timeout: 900, executor_block_strategy: 'DISCARD_LATER' as const };

  it('see what each of them changed, and where both did', () => {
    expect(conflictsOf(BASE, mine, theirs)).toEqual([
      { field: 'job_desc', base: BASE.job_desc, mine: mine.job_desc, theirs: BASE.job_desc, by: 'mine' },
      {
        field: 'executor_block_strategy',
        base: 'SERIAL_EXECUTION',
        mine: 'SERIAL_EXECUTION',
        theirs: 'DISCARD_LATER',
        by: 'theirs',
      },
      { field: 'executor_timeout', base: 60, mine: 300, theirs: 900, by: 'both' },
    ]);
  });

  it('lose nothing that only one of them changed', () => {
    const theirTimeout = merged(BASE, mine, theirs, new Set());
    expect(theirTimeout).toEqual({ ...theirs, job_desc: 'Report of the night' });
    const myTimeout = merged(BASE, mine, theirs, new Set(['executor_timeout']));
    expect(myTimeout).toEqual({ ...theirs, job_desc: 'Report of the night', executor_timeout: 300 });
  });

  it('do not differ where they did the same', () => {
    expect(conflictsOf(BASE, { ...BASE, jitter: 5 }, { ...BASE, jitter: 5 })[0]?.by).toBe('theirs');
  });
});
