import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { LiveIndicator } from '@/live/LiveIndicator';
import { LiveProvider } from '@/live/LiveProvider';
import { Processes } from '@/pages/lifecycle/Processes';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('WebSocket', SilentLine);
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

/** A line on which nothing is ever said. */
class SilentLine extends EventTarget {
  close() {}
  send() {}
}

function show(): void {
  render(
    <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}>
      <LiveProvider>
        <LiveIndicator />
        <Processes />
      </LiveProvider>
    </QueryClientProvider>,
  );
}

it('tells of one that runs, and has not been heard of for long', async () => {
  const quiet = { kind: 'coordinator', state: 'Running', detail: '', leader: false, again_in: null, waits_for: [] };
  const items = [
    { ...quiet, name: 'silent', beat: 48, address: '', restarts: 0, here: false },
    { ...quiet, name: 'well', beat: 2, address: '', restarts: 0, here: false },
  ];
  const data = { supervised: true, items };
  vi.spyOn(api, 'GET').mockImplementation((async () => ({ data, response: Response.json(data) })) as never);
  show();
  await act(() => vi.advanceTimersByTimeAsync(500));
  const badges = screen.getAllByText('processes.states.Running').map((one) => one.parentElement?.className);
  expect(badges[0]).toContain('status-orange');
  expect(badges[1]).toContain('status-green');
  expect(screen.getByText(/beat.missed30/)).toBeTruthy();
}, 20_000);

it('asks for processes every second, and not while updates are paused', async () => {
  const data = { supervised: true, items: [] };
  const asked = vi
    .spyOn(api, 'GET')
    .mockImplementation((async () => ({ data, response: Response.json(data) })) as never);
  const times = () => asked.mock.calls.filter((call: unknown[]) => call[0] === '/api/v1/processes').length;
  show();
  await act(() => vi.advanceTimersByTimeAsync(500));
  const first = times();
  await act(() => vi.advanceTimersByTimeAsync(4_000));
  expect(times() - first).toBe(4);
  fireEvent.click(screen.getByLabelText('live.pause'));
  const before = times();
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(times()).toBe(before);
}, 20_000); // a table and all its styles
