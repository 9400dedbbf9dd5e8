import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { type Session, sessionQuery } from '@/api/session';
import { EverythingBar } from '@/pages/jobs/EverythingBar';

const ADMIN: Session = { name: 'ann', rights: { everywhere: 'admin', inGroups: {} } };

/** A server that answers each question when it is told to; what was asked, and whether only to count. */
function slowServer() {
  const waiting: (() => void)[] = [];
  const dry: boolean[] = [];
  vi.spyOn(api, 'POST').mockImplementation(((_: string, { params }: { params: { query: { dry_run?: boolean } } }) => {
    dry.push(params.query.dry_run === true);
    const data = {
      dry_run: false,
      done: 1,
      job_ids: [4],
      refused: [],
      left: 0,
      skipped: 1,
      jobs: [{ id: 4, job_desc: 'job 4' }],
      next_cursor: null,
    };
    return new Promise((answer) => waiting.push(() => answer({ data, response: Response.json(data) })));
  }) as never);
  return {
    dry,
    answer: () => {
      for (const one of waiting.splice(0)) one();
    },
  };
}

afterEach(cleanup);

it('counts anew each time it is opened, and does nothing before it has', async () => {
  const server = slowServer();
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <EverythingBar filters={{}} clear={() => undefined} />
    </QueryClientProvider>,
  );
  const open = () => fireEvent.click(within(screen.getByLabelText('bulk.label')).getByText('bulk.stop'));
  const confirm = () =>
    within(screen.getByRole('dialog')).getByText('bulk.stop').closest('button') as HTMLButtonElement;

  for (const times of [1, 2]) {
    const before = server.dry.length;
    open();
    await screen.findByText('bulk.counting');
    expect(confirm().disabled).toBe(true);
    expect(screen.queryByRole('progressbar')).toBeNull();
    await waitFor(() => expect(server.dry.slice(before)).toContain(true));
    server.answer();
    await screen.findByText('bulk.would');
    expect(screen.getByText('bulk.skipped.stop')).toBeTruthy();
    await waitFor(() => expect(confirm().disabled).toBe(false));
    fireEvent.click(confirm());
    await waitFor(() => expect(server.dry.filter((one) => !one)).toHaveLength(times));
    server.answer();
    await waitFor(() => expect(screen.queryByText('bulk.would')).toBeNull());
  }
}, 20_000); // dialogs and all their styles

it('names what would be refused, part by part, and tries no more than so many', async () => {
  const asked: { cursor?: string; dry_run?: boolean }[] = [];
  vi.spyOn(api, 'POST').mockImplementation((async (_: string, { params }: { params: { query: object } }) => {
    asked.push(params.query);
    const jobs = Array.from({ length: 199 }, (_, id) => ({ id, job_desc: `job ${id}` }));
    const why = { detail: 'It has no fire left.', code: null, facts: null };
    const refused = [{ id: 999, job_desc: `late ${asked.length}`, ...why }];
    const data = { jobs, refused, left: 4_000, skipped: 2, next_cursor: `c${asked.length}` };
    return { data, response: Response.json(data) };
  }) as never);
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <EverythingBar filters={{ tag: 'eu' }} clear={() => undefined} />
    </QueryClientProvider>,
  );
  fireEvent.click(within(screen.getByLabelText('bulk.label')).getByText('bulk.start'));
  await screen.findByText('bulk.refused');
  expect(screen.getByText('late 1: It has no fire left.')).toBeTruthy();
  expect(screen.getByText('bulk.untried')).toBeTruthy();
  expect(asked.map(({ cursor }) => cursor)).toEqual([undefined, 'c1', 'c2', 'c3', 'c4']);
  expect(asked.every((one) => one.dry_run)).toBe(true);
  await queries.invalidateQueries({ queryKey: ['executions'] });
  expect(asked, 'what is told live tries nothing again').toHaveLength(5);
}, 20_000);

it('offers nothing where no job would change', async () => {
  const data = { dry_run: true, done: 0, job_ids: [], refused: [], left: 0, skipped: 3, jobs: [], next_cursor: null };
  vi.spyOn(api, 'POST').mockImplementation((async () => ({ data, response: Response.json(data) })) as never);
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <EverythingBar filters={{}} clear={() => undefined} />
    </QueryClientProvider>,
  );
  fireEvent.click(within(screen.getByLabelText('bulk.label')).getByText('bulk.start'));
  await screen.findByText('bulk.wouldNot');
  expect(screen.getByText('bulk.skipped.start')).toBeTruthy();
  const ok = within(screen.getByRole('dialog')).getByText('bulk.start').closest('button') as HTMLButtonElement;
  expect(ok.disabled).toBe(true);
}, 20_000);
