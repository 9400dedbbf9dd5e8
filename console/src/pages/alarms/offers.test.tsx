import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import type { ReactNode } from 'react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import { type Rights, type Session, sessionQuery } from '@/api/session';
import { Channels } from '@/pages/alarms/Channels';
import { Firing } from '@/pages/alarms/Firing';
import { channelsQuery, failingQuery } from '@/pages/alarms/queries';

const FAILING = { job_id: 1, job_desc: 'Greet', since: null, failures: 1, execution_id: 1, channels: [], messages: [] };
const pageOf = (items: unknown[]) => ({ pages: [{ items, next_cursor: null }], pageParams: [null] }) as never;

function shown(rights: Rights, what: ReactNode): void {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const session: Session = { name: 'ann', rights };
  queries.setQueryData(sessionQuery.queryKey, session);
  queries.setQueryData(channelsQuery.queryKey, pageOf([]));
  queries.setQueryData(failingQuery.queryKey, pageOf([FAILING]));
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>{what}</MemoryRouter>
    </QueryClientProvider>,
  );
}

afterEach(cleanup);

it.each<[string, Rights, boolean]>([
  ['an editor of everything', { everywhere: 'editor', inGroups: {} }, true],
  ['a viewer', { everywhere: 'viewer', inGroups: {} }, false],
  ['an editor of a group', { everywhere: null, inGroups: { 2: 'editor' } }, false],
])('%s is invited to make a channel only if they may', (_, rights, invited) => {
  shown(rights, <Firing />);
  expect(screen.queryAllByRole('link', { name: 'firing.setChannel' })).toHaveLength(invited ? 1 : 0);
  expect(screen.queryAllByText(/firing\.askForChannel/)).toHaveLength(invited ? 0 : 1);
  cleanup();
  shown(rights, <Channels />);
  expect(screen.queryAllByText('channels.emptyHint')).toHaveLength(invited ? 1 : 0);
  expect(screen.queryAllByText('channels.askForOne')).toHaveLength(invited ? 0 : 1);
});
