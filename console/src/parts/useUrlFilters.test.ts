import { act, cleanup, renderHook } from '@testing-library/react';
import { createElement, type ReactNode } from 'react';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it } from 'vitest';
import { changed, filtersIn, notUnderstood, unknownIn, useUrlFilters } from '@/parts/useUrlFilters';

const NAMES = ['author', 'tag'] as const;

afterEach(cleanup);

it('does not undo a filter by the next one, however soon that comes', () => {
  const wrapper = ({ children }: { children: ReactNode }) => createElement(MemoryRouter, null, children);
  const { result } = renderHook(() => useUrlFilters(NAMES), { wrapper });
  const [, change] = result.current;
  act(() => {
    change({ author: 'data team' });
    change({ tag: 'prices' });
  });
  expect(result.current[0]).toEqual({ author: 'data team', tag: 'prices' });
  act(() => result.current[1]({ author: undefined }));
  expect(result.current[0]).toEqual({ tag: 'prices' });
});

describe('filters in the address', () => {
  it('are those that are named and not empty', () => {
    const params = new URLSearchParams('status=failed&text=&other=1');
    expect(filtersIn(params, ['status', 'text'] as const)).toEqual({ status: 'failed' });
  });

  it('that are given twice are both there, so that a page can say that it takes one', () => {
    expect(filtersIn(new URLSearchParams('status=failed&status=timeout'), ['status'] as const)).toEqual({
      status: 'failed,timeout',
    });
  });

  it('change one by one and leave the others', () => {
    const after = changed(new URLSearchParams('status=failed&job_id=3&page=x'), { status: undefined, text: 'a b' });
    expect(after.toString()).toBe('job_id=3&page=x&text=a+b');
  });

  it('of other names are found, for they are wishes as well', () => {
    const params = new URLSearchParams('status=failed&job=7&min_duration=30s&empty=');
    expect(unknownIn(params, ['status'])).toEqual({ job: '7', min_duration: '30s' });
    expect(unknownIn(new URLSearchParams('status=failed'), ['status'])).toEqual({});
  });

  it('that nobody can mean are known', () => {
    const filters = { status: 'bogus', job_id: '7', text: ' ' };
    expect(notUnderstood(filters, { status: undefined, job_id: 7, text: undefined })).toEqual(['status']);
  });
});
