import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import type { Executor } from '@/api/types';
import { InstanceTable } from '@/pages/executors/InstanceTable';
import { USUAL } from '@/parts/time/staleness';

const EXECUTOR: Executor = {
  app_name: 'books',
  address: 'http://10.0.0.7:9999',
  state: 'alive',
  last_beat: '2026-01-30T10:00:00Z',
  beat_age: 3,
  since: null,
  incarnation: null,
  version: null,
  extensions: [],
  labels: {},
  unreadable: null,
  load: null,
  vitals: null,
  clock_offset: null,
  queues: [],
  drained_since: null,
  unavailable: null,
  reachability: [],
};

afterEach(cleanup);

it.each([
  ['leaving', 'unavailable.leaving'],
  ['full', 'unavailable.full'],
  ['what a newer version says', 'unavailable.other'],
])(
  'says why an executor takes no new executions: %s',
  async (unavailable, said) => {
    render(
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter>
          <InstanceTable
            executors={[{ ...EXECUTOR, unavailable }]}
            removed={[]}
            groups={[]}
            answeredAt={0}
            rules={USUAL}
          />
        </MemoryRouter>
      </QueryClientProvider>,
    );
    expect(await screen.findByText(said)).toBeTruthy();
  },
  20_000,
); // a table and all its styles
