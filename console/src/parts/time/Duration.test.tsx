import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/session';
import { HeldNote } from '@/live/HeldNote';
import { LiveIndicator } from '@/live/LiveIndicator';
import { LiveProvider } from '@/live/LiveProvider';
import { Duration } from '@/parts/time/Duration';

/** A line that is open at once. */
class Line {
  onopen: (() => void) | null = null;
  constructor() {
    setTimeout(() => this.onopen?.());
  }
  close() {}
}

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', Line);
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

it('stands still while updates are paused, and says how old it is', async () => {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  queries.setQueryData(sessionQuery.queryKey, null);
  const from = new Date(Date.now()).toISOString();
  const { container } = render(
    <QueryClientProvider client={queries}>
      <LiveProvider>
        <LiveIndicator />
        <HeldNote />
        <b>
          <Duration from={from} to={null} />
        </b>
      </LiveProvider>
    </QueryClientProvider>,
  );
  const said = () => container.querySelector('b')?.textContent;
  const wait = (ms: number) => act(() => vi.advanceTimersByTimeAsync(ms));
  await wait(4_000);
  const before = said();
  await wait(4_000);
  expect(said()).not.toBe(before);
  expect(screen.queryByRole('note')).toBeNull();
  fireEvent.click(screen.getByLabelText('live.pause'));
  const paused = said();
  await wait(90_000);
  expect(said()).toBe(paused);
  expect(screen.getByRole('note').textContent).toMatch(/live\.age .*ago/);
  expect(container.querySelector('.live-indicator')?.textContent).toMatch(/live\.paused · .*ago/);
  fireEvent.click(screen.getByLabelText('live.resume'));
  await wait(2_000);
  expect(said()).not.toBe(paused);
  expect(screen.queryByRole('note')).toBeNull();
});

it('stands still soon after the server was last heard: what nobody told of may be over', async () => {
  vi.stubGlobal(
    'WebSocket',
    class {
      close() {}
    },
  ); // nobody answers
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  queries.setQueryData(sessionQuery.queryKey, null);
  const { container } = render(
    <QueryClientProvider client={queries}>
      <LiveProvider>
        <Duration from={new Date(Date.now()).toISOString()} to={null} />
      </LiveProvider>
    </QueryClientProvider>,
  );
  await act(() => vi.advanceTimersByTimeAsync(90_000));
  expect(container.textContent).toBe('12.0 s');
});
