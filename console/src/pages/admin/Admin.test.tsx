import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import { type Rights, type Session, sessionQuery } from '@/api/session';
import { Admin } from '@/pages/admin/Admin';
import { secretsQuery } from '@/pages/admin/queries';

function shown(rights: Rights): void {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const session: Session = { name: 'ann', rights };
  queries.setQueryData(sessionQuery.queryKey, session);
  queries.setQueryData(['groups', 'all'], { items: [], next_cursor: null });
  queries.setQueryData(secretsQuery.queryKey, { pages: [{ items: [], next_cursor: null }], pageParams: [null] });
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <Admin />
      </MemoryRouter>
    </QueryClientProvider>,
  );
}

afterEach(cleanup);

it.each<[string, Rights, number]>([
  ['who administers a group', { everywhere: null, inGroups: { 2: 'admin' } }, 1],
  ['a viewer', { everywhere: 'viewer', inGroups: {} }, 0],
  ['an operator of a group', { everywhere: null, inGroups: { 2: 'operator' } }, 0],
])('%s is offered secrets only where they may write some', (_, rights, offers) => {
  shown(rights);
  expect(screen.queryAllByRole('button', { name: /secrets.add/ })).toHaveLength(offers);
  expect(screen.queryAllByText('notAllowed.title')).toHaveLength(1 - offers);
});
