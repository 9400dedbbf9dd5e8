import { cleanup, renderHook } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import type { Level } from '@/parts/log/lines';
import { useShowingAll } from '@/parts/log/useReading';

afterEach(cleanup);

it('lets nobody follow the lines of levels that are about to go', () => {
  const show = vi.fn();
  const some: readonly Level[] = ['error'];
  const { result, rerender } = renderHook(({ levels }) => useShowingAll(levels, show), {
    initialProps: { levels: some },
  });
  expect(result.current.left.current).toBe(false);
  result.current.showAll();
  expect(show).toHaveBeenCalledWith([]);
  expect(result.current.left.current).toBe(true);
  rerender({ levels: [] });
  expect(result.current.left.current).toBe(false);
});

it('leaves a log alone whose lines are all shown', () => {
  const show = vi.fn();
  const { result } = renderHook(() => useShowingAll([], show));
  result.current.showAll();
  expect(show).not.toHaveBeenCalled();
  expect(result.current.left.current).toBe(false);
});
