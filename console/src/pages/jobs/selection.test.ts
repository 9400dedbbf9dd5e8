import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import type { BoardRow } from '@/api/types';
import { useJobSelection } from '@/pages/jobs/selection';

const row = (id: number) => ({ job: { id } }) as BoardRow;
const SHOWN = [1, 2].map(row);

function begun() {
  const { result, rerender } = renderHook(({ text, shown }) => useJobSelection(text ? { text } : {}, shown), {
    initialProps: { text: '', shown: SHOWN },
  });
  const state = () => [result.current.chosen.map(({ job }) => job.id), result.current.all];
  return { result, rerender, state };
}

afterEach(cleanup);

describe('the selection of jobs', () => {
  it('of everything has what is shown, also what is shown later', () => {
    const { result, rerender, state } = begun();
    act(() => result.current.selectAll());
    expect(state()).toEqual([[1, 2], true]);
    rerender({ text: '', shown: [...SHOWN, row(3)] });
    expect(state()).toEqual([[1, 2, 3], true]);
  });

  it('is no longer everything as soon as one is left out', () => {
    const { result, rerender, state } = begun();
    act(() => result.current.selectAll());
    act(() => result.current.select([2]));
    expect(state()).toEqual([[2], false]);
    rerender({ text: '', shown: [...SHOWN, row(3)] });
    expect(state()).toEqual([[2], false]);
  });

  it('is empty under other filters, whatever was selected before', () => {
    const { result, rerender, state } = begun();
    act(() => result.current.selectAll());
    rerender({ text: 'one', shown: SHOWN });
    expect(state()).toEqual([[], false]);
    act(() => result.current.select([1]));
    rerender({ text: 'nothing', shown: [] });
    expect(state()).toEqual([[], false]);
  });
});
