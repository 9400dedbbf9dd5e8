import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import { type Rights, type Session, sessionQuery } from '@/api/session';
import { Missing } from '@/pages/execution/Missing';

afterEach(cleanup);

it.each<[string, Rights]>([
  ['missing.hint', { everywhere: 'viewer', inGroups: {} }],
  ['missing.hintOfSome', { everywhere: null, inGroups: { 2: 'editor' } }],
])('says %s to who has rights %j', (hint, rights) => {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const session: Session = { name: 'ann', rights };
  queries.setQueryData(sessionQuery.queryKey, session);
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <Missing />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  expect(screen.queryAllByText(hint)).toHaveLength(1);
});
