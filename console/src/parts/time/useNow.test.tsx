import { act, cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { useNow } from '@/parts/time/useNow';

afterEach(() => {
  cleanup();
  vi.useRealTimers();
});

function Clock() {
  return <output>{useNow()}</output>;
}

it('ticks as a second begins, so that a countdown to one is right all the time', () => {
  vi.useFakeTimers({ now: 10_400 });
  render(<Clock />);
  act(() => vi.advanceTimersByTime(599));
  expect(screen.getByRole('status').textContent).toBe('10400');
  act(() => vi.advanceTimersByTime(1));
  expect(screen.getByRole('status').textContent).toBe('11000');
  act(() => vi.advanceTimersByTime(1_000));
  expect(screen.getByRole('status').textContent).toBe('12000');
});
