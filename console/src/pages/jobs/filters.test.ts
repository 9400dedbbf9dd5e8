import { describe, expect, it } from 'vitest';
import { asQuery } from '@/pages/jobs/filters';

describe('the filters of jobs', () => {
  it('are taken as they are', () => {
    expect(
      asQuery({ only: 'failing', job_group: '3', author: 'data', tag: 'EU, prices,eu,', text: ' price ' }),
    ).toEqual({
      only: 'failing',
      job_group: 3,
      author: 'data',
      tag: ['eu', 'prices'],
      text: 'price',
    });
  });

  it('leave out what nobody can mean', () => {
    const nothing = { only: undefined, job_group: undefined, author: undefined, tag: undefined, text: undefined };
    expect(asQuery({ only: 'toString', job_group: '0', author: ' ', tag: ' ,', text: '  ' })).toEqual(nothing);
    expect(asQuery({ job_group: '-1' })).toEqual(nothing);
  });
});
