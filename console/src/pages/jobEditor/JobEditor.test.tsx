import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, cleanup, fireEvent, render, screen } from '@testing-library/react';
import { App } from 'antd';
import { createMemoryRouter, RouterProvider } from 'react-router';
import { afterEach, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { groupsQuery } from '@/api/groups';
import { type Session, sessionQuery } from '@/api/session';
import { JobEditor } from '@/pages/jobEditor/JobEditor';

const EDITOR: Session = { name: 'ann', rights: { everywhere: 'editor', inGroups: {} } };

afterEach(cleanup);

it('keeps what was typed while nobody answers', async () => {
  const refused = { error: {}, response: new Response('{}', { status: 503 }) };
  vi.spyOn(api, 'GET').mockResolvedValue(refused as never);
  vi.spyOn(api, 'POST').mockResolvedValue(refused as never);
  const queries = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: Number.POSITIVE_INFINITY } },
  });
  queries.setQueryData(sessionQuery.queryKey, EDITOR);
  queries.setQueryData(groupsQuery.queryKey, { items: [{ id: 1, title: 'One', app_name: 'one' }] } as never);
  const router = createMemoryRouter([{ path: '/', element: <JobEditor /> }]);
  render(
    <QueryClientProvider client={queries}>
      <App>
        <RouterProvider router={router} />
      </App>
    </QueryClientProvider>,
  );
  fireEvent.change(screen.getByLabelText('fields.job_desc'), { target: { value: 'Work' } });
  await act(() => queries.refetchQueries({ queryKey: groupsQuery.queryKey }));
  expect(queries.getQueryState(groupsQuery.queryKey)?.status).toBe('error');
  expect(screen.getByLabelText<HTMLInputElement>('fields.job_desc').value).toBe('Work');
}, 20_000); // the whole editor is drawn
