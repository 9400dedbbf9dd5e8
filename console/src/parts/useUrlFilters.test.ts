import { describe, expect, it } from 'vitest';
import { changed, filtersIn, notUnderstood } from '@/parts/useUrlFilters';

describe('filters in the address', () => {
  it('are those that are named and not empty', () => {
    const params = new URLSearchParams('status=failed&text=&other=1');
    expect(filtersIn(params, ['status', 'text'] as const)).toEqual({ status: 'failed' });
  });

  it('change one by one and leave the others', () => {
    const after = changed(new URLSearchParams('status=failed&job_id=3&page=x'), { status: undefined, text: 'a b' });
    expect(after.toString()).toBe('job_id=3&page=x&text=a+b');
  });

  it('that nobody can mean are known', () => {
    const filters = { status: 'bogus', job_id: '7', text: ' ' };
    expect(notUnderstood(filters, { status: undefined, job_id: 7, text: undefined })).toEqual(['status']);
  });
});
