import { act, cleanup, renderHook } from '@testing-library/react';
import { createElement, type ReactNode } from 'react';
import { createMemoryRouter, type DataRouter, MemoryRouter, Router, type To } from 'react-router';
import { afterEach, describe, expect, it } from 'vitest';
import { AddressNow, changed, filtersIn, notUnderstood, unknownIn, useUrlFilters } from '@/parts/useUrlFilters';

const NAMES = ['author', 'tag'] as const;

afterEach(cleanup);

describe('a page that is slow to show its address', () => {
  /** Two parts of a page, each with names of its own, and a router that the page follows late or not at all. */
  function slowPage(from: string[]) {
    const router = createMemoryRouter([{ path: '*', element: null }], { initialEntries: from, basename: '/tools' });
    const addressNow = () => router.state.navigation.location ?? router.state.location;
    const shown = createMemoryRouter([{ path: '*', element: null }], { initialEntries: from, basename: '/tools' });
    const wrapper = ({ children }: { children: ReactNode }) =>
      createElement(AddressNow, { value: addressNow }, createElement(Router, frozen(shown, router), children));
    const { result } = renderHook(() => [useUrlFilters(NAMES)[1], useUrlFilters(['sort'] as const)[1]] as const, {
      wrapper,
    });
    return { router, change: result.current[0], order: result.current[1] };
  }

  /** What is shown stays as it was at first; where one goes is the router's affair. */
  function frozen(shown: DataRouter, router: DataRouter) {
    const navigator = {
      createHref: () => '',
      go: () => {},
      push: (to: To) => void router.navigate(to),
      replace: (to: To) => void router.navigate(to, { replace: true }),
    };
    return { location: shown.state.location, navigator, basename: '/tools' };
  }

  it('keeps what was chosen before, by whichever part of it', async () => {
    const { router, change, order } = slowPage(['/tools/jobs']);
    await act(async () => change({ author: 'data team' }));
    await act(async () => order({ sort: 'duration' }));
    await act(async () => change({ tag: 'prices' }));
    expect(router.state.location.search).toBe('?author=data+team&sort=duration&tag=prices');
  });

  it('does not bring back what Back has undone', async () => {
    const { router, change } = slowPage(['/tools/jobs']);
    await act(async () => change({ author: 'amy' }));
    await act(() => router.navigate(-1));
    await act(async () => change({ tag: 'prices' }));
    expect(router.state.location.search).toBe('?tag=prices');
  });

  it('takes nothing over from another page', async () => {
    const { router, change } = slowPage(['/tools/jobs?author=amy']);
    await act(() => router.navigate('/tools/executions?status=failed'));
    await act(async () => change({ tag: 'prices' }));
    expect(router.state.location.search).toBe('?author=amy&tag=prices');
  });
});

it('changes what is shown where no router tells more', () => {
  const wrapper = ({ children }: { children: ReactNode }) => createElement(MemoryRouter, null, children);
  const { result } = renderHook(() => useUrlFilters(NAMES), { wrapper });
  act(() => result.current[1]({ author: 'data team' }));
  act(() => result.current[1]({ tag: 'prices' }));
  expect(result.current[0]).toEqual({ author: 'data team', tag: 'prices' });
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
