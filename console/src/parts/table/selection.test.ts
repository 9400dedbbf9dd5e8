import { act, cleanup, renderHook } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { useSelection } from '@/parts/table/selection';

interface Row {
  id: number;
  says?: string;
}

const rows = (...ids: number[]): Row[] => ids.map((id) => ({ id }));

function begun(...ids: number[]) {
  const { result, rerender } = renderHook(({ under, shown }) => useSelection(under, shown, ({ id }) => id), {
    initialProps: { under: 'failed', shown: rows(...ids) },
  });
  return { result, rerender, chosen: () => result.current.chosen };
}

afterEach(cleanup);

describe('what is selected in a list that goes on', () => {
  it('stays selected when it has left the list, as it was last', () => {
    const { result, rerender, chosen } = begun(3, 2, 1);
    act(() => result.current.select([3, 2, 1]));
    rerender({ under: 'failed', shown: [{ id: 4 }, { id: 3 }, { id: 2, says: 'ended' }] });
    expect(chosen()).toEqual([{ id: 3 }, { id: 2, says: 'ended' }, { id: 1 }]);
    rerender({ under: 'failed', shown: rows(9, 8) });
    expect(chosen()).toEqual([{ id: 3 }, { id: 2, says: 'ended' }, { id: 1 }]);
    act(() => result.current.select([3, 1]));
    expect(chosen()).toEqual(rows(3, 1));
  });

  it('may be what only the table still shows', () => {
    const { result, chosen } = begun(9);
    act(() => result.current.select([9, 1], [undefined, { id: 1 }]));
    expect(chosen()).toEqual(rows(9, 1));
  });

  it('is nothing under other filters', () => {
    const { result, rerender, chosen } = begun(2, 1);
    act(() => result.current.select([2]));
    rerender({ under: 'timeout', shown: rows(2, 1) });
    expect(chosen()).toEqual([]);
    rerender({ under: 'failed', shown: rows(2, 1) });
    expect(chosen()).toEqual([]);
  });
});
