import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, within } from '@testing-library/react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { type Session, sessionQuery } from '@/api/session';
import { Jobs } from '@/pages/jobs/Jobs';

const ADMIN: Session = { name: 'ann', rights: { everywhere: 'admin', inGroups: {} } };
const NOTHING = { runs: [], executors: { alive: 0, known: 0 } };
const ALL = [1, 2, 3, 4].map((id) => ({
  job: { id, job_group: 1, job_desc: `job ${id}`, unreadable: 'x' },
  ...NOTHING,
}));

/** A place with four jobs, which are listed two at a time; no text finds any. */
function fourJobs(): void {
  vi.spyOn(api, 'GET').mockImplementation((async (path: string, asked?: { params: { query: Asked } }) => {
    const { text, limit = 0 } = asked?.params.query ?? {};
    const whole = { items: path.endsWith('/board') && !text ? ALL : [], next_cursor: null };
    const data = whole.items.length > 0 && limit <= 50 ? { items: ALL.slice(0, 2), next_cursor: 'more' } : whole;
    return { data, response: Response.json(data) };
  }) as never);
}

interface Asked {
  text?: string;
  limit?: number;
}

const bar = () => screen.queryByLabelText('bulk.label');

function press(name: string): void {
  fireEvent.click(within(bar() as HTMLElement).getByText(name));
}

/** The jobs that are named before anything is done to them. */
async function named(): Promise<(string | null)[]> {
  press('bulk.delete');
  fireEvent.click(await screen.findByText('cancel'));
  return [...document.querySelectorAll('.bulk-names li')].map((one) => one.textContent);
}

afterEach(cleanup);

it('does nothing to jobs that were selected before and are not any more', async () => {
  fourJobs();
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <Jobs />
      </MemoryRouter>
    </QueryClientProvider>,
  );
  await screen.findByText('job 2');
  fireEvent.click(document.querySelector('th input[type=checkbox]') as HTMLElement);
  press('bulk.all');
  await vi.waitFor(async () => expect(await named()).toEqual(ALL.map(({ job }) => job.job_desc)));
  press('bulk.clear');
  expect(bar()).toBeNull();
  fireEvent.click(screen.getAllByLabelText('choose')[1] as HTMLElement);
  expect(await named()).toEqual(['job 2']);
  const text = screen.getByLabelText('filters.text');
  fireEvent.change(text, { target: { value: 'nothing' } });
  fireEvent.keyDown(text, { key: 'Enter', keyCode: 13 });
  await screen.findByText('empty.filtered');
  expect(bar()).toBeNull();
}, 20_000); // a table, a dialog and all their styles
