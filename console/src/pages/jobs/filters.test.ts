import { describe, expect, it } from 'vitest';
import { asQuery } from '@/pages/jobs/filters';

describe('the filters of jobs', () => {
  it('are taken as they are', () => {
    expect(asQuery({ only: 'failing', job_group: '3', text: ' price ' })).toEqual({
      only: 'failing',
      job_group: 3,
      text: 'price',
    });
  });

  it('leave out what nobody can mean', () => {
    const nothing = { only: undefined, job_group: undefined, text: undefined };
    expect(asQuery({ only: 'toString', job_group: '0', text: '  ' })).toEqual(nothing);
    expect(asQuery({ job_group: '-1' })).toEqual(nothing);
  });
});
