import { QueryClient, QueryClientProvider, useInfiniteQuery } from '@tanstack/react-query';
import { cleanup, render, screen, waitFor } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import { DataTable, type KeysetPage } from '@/parts/table/DataTable';

type Row = { id: number };

function List({ page }: { page: Promise<KeysetPage<Row>> }) {
  const list = useInfiniteQuery({
    queryKey: ['rows'],
    queryFn: () => page,
    initialPageParam: null,
    getNextPageParam: (last: KeysetPage<Row>) => last.next_cursor,
  });
  return <DataTable<Row> label="rows" list={list} rowKey="id" columns={[{ dataIndex: 'id' }]} empty="nothing" />;
}

afterEach(cleanup);

it('does not count what has not come yet', async () => {
  let answer: (page: KeysetPage<Row>) => void = () => {};
  const page = new Promise<KeysetPage<Row>>((resolve) => {
    answer = resolve;
  });
  render(
    <QueryClientProvider client={new QueryClient()}>
      <MemoryRouter>
        <List page={page} />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  expect(screen.getByRole('region', { name: 'rows' }).textContent).not.toContain('table.shown');
  answer({ items: [], next_cursor: null });
  await waitFor(() => expect(screen.getByRole('region', { name: 'rows' }).textContent).toContain('table.shown'));
});
