import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import type { BoardRow } from '@/api/types';
import { useSelection } from '@/pages/jobs/selection';

const row = (id: number) => ({ job: { id } }) as BoardRow;
const ALL = [1, 2, 3, 4, 5].map(row);
const SHOWN = ALL.slice(0, 2);

function begun() {
  const { result, rerender } = renderHook(({ text, shown }) => useSelection(text ? { text } : {}, shown), {
    initialProps: { text: '', shown: SHOWN },
  });
  const ids = () => result.current.chosen.map(({ job }) => job.id);
  return { result, rerender, ids };
}

afterEach(cleanup);

describe('the selection of jobs', () => {
  it('has everything that matches only as long as nothing else is selected', () => {
    const { result, rerender, ids } = begun();
    act(() => result.current.selectAll(ALL));
    expect(ids()).toEqual([1, 2, 3, 4, 5]);
    act(() => result.current.select([]));
    act(() => result.current.select([2]));
    rerender({ text: '', shown: [] });
    expect(ids()).toEqual([]);
    rerender({ text: '', shown: SHOWN });
    expect(ids()).toEqual([2]);
  });

  it('is empty under other filters, whatever was selected before', () => {
    const { result, rerender, ids } = begun();
    act(() => result.current.selectAll(ALL));
    rerender({ text: 'one', shown: ALL.slice(0, 1) });
    expect(ids()).toEqual([]);
    act(() => result.current.select([1]));
    rerender({ text: 'nothing', shown: [] });
    expect(ids()).toEqual([]);
  });

  it('of everything can lose some', () => {
    const { result, ids } = begun();
    act(() => result.current.selectAll(ALL));
    act(() => result.current.select([2, 3, 4, 5]));
    expect(ids()).toEqual([2, 3, 4, 5]);
  });
});
