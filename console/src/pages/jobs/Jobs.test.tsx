import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { type Session, sessionQuery } from '@/api/session';
import { Jobs } from '@/pages/jobs/Jobs';

const ADMIN: Session = { name: 'ann', rights: { everywhere: 'admin', inGroups: {} } };
const NOTHING = { runs: [], last: null, executors: { alive: 0, known: 0 } };
const ALL = [1, 2, 3, 4].map((id) => ({
  job: { id, job_group: 1, job_desc: `job ${id}`, unreadable: 'x' },
  ...NOTHING,
}));

/** A place with four jobs, which are listed two at a time; no text finds any. */
function fourJobs(): void {
  vi.spyOn(api, 'GET').mockImplementation((async (path: string, asked?: { params: { query: Asked } }) => {
    const found = path.endsWith('/board') && !asked?.params.query.text;
    const list = found ? { items: ALL.slice(0, 2), next_cursor: 'more' } : { items: [], next_cursor: null };
    const data = path.endsWith('/in-use') ? { authors: [], tags: [] } : list;
    return { data, response: Response.json(data) };
  }) as never);
}

/** What the server is asked to do to everything that matches. */
function asked(): unknown[] {
  const told: unknown[] = [];
  vi.spyOn(api, 'POST').mockImplementation((async (path: string, { params }: { params: { query: object } }) => {
    told.push([path, params.query]);
    const data = {
      dry_run: true,
      done: 1,
      job_ids: [2],
      refused: [],
      left: 0,
      skipped: 0,
      jobs: [{ id: 2, job_desc: 'job 2' }],
      next_cursor: null,
    };
    return { data, response: Response.json(data) };
  }) as never);
  return told;
}

interface Asked {
  text?: string;
}

const bar = () => screen.queryByLabelText('bulk.label');

function press(name: string): void {
  fireEvent.click(within(bar() as HTMLElement).getByText(name));
}

/** The jobs that are named before anything is done to them. */
async function named(): Promise<(string | null)[]> {
  press('bulk.delete');
  await screen.findByText('bulk.would');
  fireEvent.click(await screen.findByText('cancel'));
  return [...document.querySelectorAll('.bulk-names li')].map((one) => one.textContent);
}

function show(): void {
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <Jobs />
      </MemoryRouter>
    </QueryClientProvider>,
  );
}

afterEach(cleanup);

it('does nothing to jobs that were selected before and are not any more', async () => {
  fourJobs();
  show();
  await screen.findByText('job 2');
  fireEvent.click(document.querySelector('th input[type=checkbox]') as HTMLElement);
  press('bulk.all');
  await screen.findByText('bulk.everything');
  const told = asked();
  press('bulk.stop');
  await screen.findByText('bulk.would');
  expect(told).toEqual([['/api/v1/jobs/bulk/stop', expect.objectContaining({ all: true, dry_run: true })]]);
  fireEvent.click(screen.getByText('cancel'));
  press('bulk.clear');
  expect(bar()).toBeNull();
  fireEvent.click(screen.getAllByLabelText('choose')[1] as HTMLElement);
  expect(await named()).toEqual(['job 2']);
  expect(told.at(-1)).toEqual(['/api/v1/jobs/bulk/delete', { id: [2], dry_run: true }]);
  const text = screen.getByLabelText('filters.text');
  fireEvent.change(text, { target: { value: 'nothing' } });
  fireEvent.keyDown(text, { key: 'Enter', keyCode: 13 });
  await screen.findByText('empty.filtered');
  expect(bar()).toBeNull();
}, 20_000); // a table, a dialog and all their styles

it('shows the shard that failed as the last run, though others of its broadcast have succeeded', async () => {
  const at = '2026-01-30T10:00:00Z';
  const run = { trigger_code: 200, trigger_time: at, start_time: at, handle_time: at };
  const failed = { ...run, id: 8, status: 'failed', handle_code: 500 };
  const succeeded = { ...run, id: 9, status: 'success', handle_code: 200 };
  const data = { items: [{ ...ALL[0], runs: [succeeded, failed], last: failed }], next_cursor: null };
  vi.spyOn(api, 'GET').mockImplementation((async (path: string) => {
    const found = path.endsWith('/board') ? data : { authors: [], tags: [], items: [], next_cursor: null };
    return { data: found, response: Response.json(found) };
  }) as never);
  show();
  await screen.findByText('job 1');
  const tags = [...document.querySelectorAll('.status-tag')];
  expect(tags.map((one) => one.getAttribute('data-status'))).toEqual(['failed']);
});
