import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { type Session, sessionQuery } from '@/api/session';
import { BulkActions } from '@/pages/executions/BulkActions';

const ADMIN: Session = { name: 'ann', rights: { everywhere: 'admin', inGroups: {} } };

interface Asked {
  dry_run?: boolean;
  after?: number;
  until?: string;
}

/** A server with 1,200 that failed, which answers each part when it is told to. */
function slowServer() {
  const asked: Asked[] = [];
  const waiting: (() => void)[] = [];
  vi.spyOn(api, 'POST').mockImplementation(((_: string, { params }: { params: { query: Asked } }) => {
    const { dry_run = false, after = 0 } = params.query;
    const left = Math.max(0, 1_200 - after - 500);
    const done = 1_200 - after - left;
    const next_after = left > 0 ? after + done : null;
    const data = { dry_run, done, skipped: dry_run ? 3 : 0, left, next_after, execution_ids: [] };
    const answer = { data, response: Response.json(data) };
    if (dry_run) return Promise.resolve(answer);
    asked.push(params.query);
    return new Promise((give) => waiting.push(() => give(answer)));
  }) as never);
  return {
    asked,
    answer: () => {
      for (const one of waiting.splice(0)) one();
    },
  };
}

function begin(): void {
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <BulkActions filters={{ status: 'failed,timeout' }} />
    </QueryClientProvider>,
  );
  fireEvent.click(screen.getByText('bulk.retry'));
}

const pressed = (name: string) =>
  fireEvent.click(within(screen.getByRole('dialog')).getByText(name, { selector: 'button *' }));

afterEach(cleanup);

it('is done part by part until nothing is left, and never to what it opened itself', async () => {
  const server = slowServer();
  begin();
  await screen.findByText('bulk.wouldRetry');
  expect(screen.getByText('bulk.wouldSkip')).toBeTruthy();
  expect(screen.getByText('bulk.untried')).toBeTruthy();
  pressed('bulk.retry');
  for (const after of [undefined, 500, 1_000]) {
    await waitFor(() => expect(server.asked.at(-1)?.after).toBe(after));
    expect(await screen.findByRole('progressbar')).toBeTruthy();
    server.answer();
  }
  await new Promise((later) => setTimeout(later, 50));
  expect(server.asked).toHaveLength(3);
  expect(new Set(server.asked.map(({ until }) => until)).size).toBe(1);
  expect(Date.parse(server.asked[0]?.until ?? '')).toBeLessThanOrEqual(Date.now());
}, 20_000); // dialogs and all their styles

it('stops after the part that is under way when it is cancelled', async () => {
  const server = slowServer();
  begin();
  await screen.findByText('bulk.wouldRetry');
  pressed('bulk.retry');
  await waitFor(() => expect(server.asked).toHaveLength(1));
  pressed('cancel');
  server.answer();
  await new Promise((later) => setTimeout(later, 50));
  expect(server.asked).toHaveLength(1);
}, 20_000);

it.each([
  { next_after: null, said: 'bulk.noneToRetry', disabled: true },
  { next_after: 200_000, said: 'bulk.perhapsMore', disabled: false },
])(
  'cannot be done where nothing matches, and says so: $said',
  async ({ next_after, said, disabled }) => {
    const data = { dry_run: true, done: 0, skipped: 0, left: 0, next_after, execution_ids: [] };
    vi.spyOn(api, 'POST').mockResolvedValue({ data, response: Response.json(data) } as never);
    begin();
    await screen.findByText(said);
    const [, confirm] = within(screen.getByRole('dialog')).getAllByRole('button', { name: /cancel|bulk.retry/ });
    expect((confirm as HTMLButtonElement).disabled).toBe(disabled);
  },
  20_000,
);
