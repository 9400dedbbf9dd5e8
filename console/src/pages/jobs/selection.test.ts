import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import type { BoardRow } from '@/api/types';
import { useJobSelection, wouldChange } from '@/pages/jobs/selection';

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

describe('starting and stopping', () => {
  const job = (trigger_status: number, schedule_type: string) =>
    ({ id: 1, trigger_status, schedule_type }) as BoardRow['job'];

  it.each([
    [0, 'CRON', true, false],
    [1, 'CRON', false, true],
    [0, 'NONE', false, false],
  ])('change a job with status %i and schedule %s: %s, %s', (status, schedule, start, stop) => {
    expect([wouldChange('start', job(status, schedule)), wouldChange('stop', job(status, schedule))]).toEqual([
      start,
      stop,
    ]);
  });

  it('are tried for a job that cannot be read', () => {
    expect(wouldChange('stop', { id: 1, unreadable: 'x' } as BoardRow['job'])).toBe(true);
  });
});
