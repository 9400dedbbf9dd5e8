import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { MemoryRouter } from 'react-router';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { handlersQuery } from '@/api/jobs';
import { type Session, sessionQuery } from '@/api/session';
import type { Handler, Job } from '@/api/types';
import { RunDialog } from '@/parts/job/RunOnce';

const SCHEMA = {
  type: 'object',
  required: ['order'],
  properties: {
    order: { type: 'integer' },
    pages: { type: 'integer', maximum: 10 },
    ids: { type: 'array', items: { type: 'integer' } },
  },
};
const STORED = '{"order": 1234567890123456789, "share": 0.1000}';

const sent: (string | undefined)[] = [];

beforeEach(() => {
  sent.length = 0;
  vi.spyOn(api, 'POST').mockImplementation((async (_: string, { body }: { body: { executor_param?: string } }) => {
    sent.push(body.executor_param);
    return { data: { execution_ids: [1] }, response: new Response() };
  }) as never);
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const session: Session = { name: 'ann', rights: { everywhere: 'admin', inGroups: {} } };
  queries.setQueryData(sessionQuery.queryKey, session);
  const handler = { name: 'refund', params_schema: SCHEMA } as unknown as Handler;
  queries.setQueryData(handlersQuery(2).queryKey, { items: [handler] });
  const job = { id: 7, job_group: 2, job_desc: 'Refund', executor_handler: 'refund', executor_param: STORED };
  const whole = { ...job, executor_queue: 'q', super_task_id: 0, glue_type: 'BEAN' } as unknown as Job;
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <RunDialog job={whole} close={() => {}} />
      </MemoryRouter>
    </QueryClientProvider>,
  );
});

afterEach(() => {
  cleanup();
  vi.restoreAllMocks();
});

async function type(name: string, text: string) {
  const field = screen.getByLabelText(name, { exact: false });
  await userEvent.clear(field);
  if (text) await userEvent.paste(text);
}

async function run() {
  await userEvent.click(screen.getByRole('button', { name: /^run\.confirm|^Run/ }));
}

it.each([
  ['pages', '99', /param\.max|at most/],
  ['pages', '3x', /param\.notNumber|be a number/],
  ['ids', '[1, 2', /param\.notJson|not JSON/],
  ['order', '', /param\.missing|be given/],
])('does not start with a wrong field: %s = %s', async (name, text, told) => {
  await type(name, text);
  await run();
  expect(screen.getByRole('alert').textContent).toMatch(told);
  expect(sent).toEqual([]);
});

it('changes no digit of what it was given and of what is typed', async () => {
  await type('pages', '4');
  await type('ids', '[1234567890123456789, -0]');
  await run();
  expect(sent).toEqual(['{"order":1234567890123456789,"share":0.1000,"pages":4,"ids":[1234567890123456789, -0]}']);
});

it('keeps what is typed when it is shown as text, and sends that only where it is meant', async () => {
  await type('ids', '[1, 2');
  await userEvent.click(screen.getByText('JSON'));
  const text = '{"order":1234567890123456789,"share":0.1000,"ids":[1, 2}';
  expect(screen.getByRole<HTMLTextAreaElement>('textbox', { name: /param\.text|Parameter/ }).value).toBe(text);
  await run();
  expect(sent).toEqual([]);
  await userEvent.click(screen.getByRole('checkbox'));
  await run();
  expect(sent).toEqual([text]);
});
