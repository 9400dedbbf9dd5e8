import { cleanup, render, renderHook } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, expect, it } from 'vitest';
import type { Execution } from '@/api/types';
import { useColumns } from '@/pages/executions/columns';

afterEach(cleanup);

const TAKEN = {
  status: 'pending',
  phase: 'dispatched',
  trigger_time: '2026-03-01T12:00:00Z',
  schedule_time: '2026-03-01T12:00:00Z',
  dispatch_time: '2026-03-01T12:00:00Z',
  start_time: null,
  handle_time: null,
} as Execution;

function cell(key: string, execution: Execution): string | null {
  const { result } = renderHook(() => useColumns());
  const column = result.current.find((one) => one.key === key);
  const drawn = column?.render?.(null, execution, 0) as ReactNode;
  return render(drawn).container.textContent;
}

it('tells no duration of one of which no start is told', () => {
  expect(cell('start', TAKEN)).toBe('–');
  expect(cell('duration', TAKEN)).toBe('–');
  expect(cell('duration', { ...TAKEN, phase: 'running' })).toBe('–');
});

it('counts the duration of one that is open from its start', () => {
  expect(cell('duration', { ...TAKEN, phase: 'running', start_time: '2026-03-01T12:00:50Z' })).toMatch(/\d/);
});
