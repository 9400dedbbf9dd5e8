import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import { App } from 'antd';
import type { ReactNode } from 'react';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import { type Session, sessionQuery } from '@/api/session';
import type { Execution, ExecutionDetail } from '@/api/types';
import { Actions } from '@/pages/execution/Actions';
import { RowActions } from '@/pages/executions/RowActions';
import { SelectedActions } from '@/pages/executions/SelectedActions';

afterEach(cleanup);

const ADMIN: Session = { name: 'ann', rights: { everywhere: 'admin', inGroups: {} } };

function execution(job_desc: string | null, status: Execution['status'] = 'failed'): ExecutionDetail {
  return { id: 7, job_id: 1, job_group: 1, job_desc, status } as ExecutionDetail;
}

function shown(part: ReactNode): void {
  const queries = new QueryClient();
  queries.setQueryData(sessionQuery.queryKey, ADMIN);
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>
        <App>{part}</App>
      </MemoryRouter>
    </QueryClientProvider>,
  );
}

const PLACES: [string, (one: ExecutionDetail) => ReactNode][] = [
  ['in a row', (one) => <RowActions execution={one} />],
  ['of what is selected', (one) => <SelectedActions selected={[one]} keep={() => {}} />],
  ['on its page', (one) => <Actions execution={one} />],
];

it.each(PLACES)('is offered %s while the job is there, and not when it is gone', (_, place) => {
  shown(place(execution('nightly report')));
  expect(screen.queryAllByText('retry.label')).toHaveLength(1);
  cleanup();
  for (const status of ['failed', 'success', 'trigger_failed'] as const) {
    shown(place(execution(null, status)));
    expect(screen.queryAllByText('retry.label')).toHaveLength(0);
    expect(screen.queryAllByText('kill.label')).toHaveLength(0);
    cleanup();
  }
});

it.each(PLACES)('is not offered %s for a test of code', (_, place) => {
  shown(place({ ...execution('nightly report'), test: true }));
  expect(screen.queryAllByText('retry.label')).toHaveLength(0);
});

it.each(PLACES)('does not hide %s that what is open of a job that is gone can be ended', (_, place) => {
  shown(place(execution(null, 'pending')));
  expect(screen.queryAllByText('kill.label')).toHaveLength(1);
});

it('is done to those of which the job is there, where others are selected too', () => {
  shown(<SelectedActions selected={[execution('nightly report'), { ...execution(null), id: 8 }]} keep={() => {}} />);
  expect(screen.queryAllByText('retry.label')).toHaveLength(1);
});
