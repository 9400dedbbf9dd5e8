import { describe, expect, it } from 'vitest';
import { Problem } from '@/api/problem';
import { pointerOf } from '@/pages/jobEditor/preview';

function problem(errors: Problem['errors']): Problem {
  return new Problem({ type: 'urn:orth:problem:invalid-schedule', title: '', status: 422, detail: 'No.', errors });
}

describe('the place of the trouble', () => {
  it('is pointed at', () => {
    const where = { field: 'schedule_conf', message: 'No.', text: '0 25 * * *', position: 2, length: 2 };
    expect(pointerOf(problem([where]))).toBe('0 25 * * *\n  ^^');
  });

  it('is nowhere when the server does not say', () => {
    expect(pointerOf(problem([]))).toBeNull();
    expect(pointerOf(problem([{ field: 'timezone', message: 'No.' }]))).toBeNull();
  });
});
