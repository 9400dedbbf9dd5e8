import { describe, expect, it } from 'vitest';
import { problemOf } from '@/api/problem';

describe('a problem', () => {
  it('says what the server said', () => {
    const body = {
      type: 'urn:orth:problem:conflict',
      title: 'Conflict',
      status: 409,
      detail: 'In use.',
      hint: 'Stop it.',
    };
    expect(problemOf(409, 'Conflict', body)).toMatchObject({ message: 'In use.', hint: 'Stop it.', kind: 'conflict' });
  });

  it('is one as well when a proxy answered with a page', () => {
    expect(problemOf(502, 'Bad Gateway', '<html>')).toMatchObject({ message: '502 Bad Gateway', status: 502 });
  });
});
