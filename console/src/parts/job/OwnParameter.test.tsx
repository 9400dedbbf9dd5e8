import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render, screen } from '@testing-library/react';
import type { ReactNode } from 'react';
import { MemoryRouter } from 'react-router';
import { afterEach, describe, expect, it } from 'vitest';
import { type Session, sessionQuery } from '@/api/session';
import type { Job, Role } from '@/api/types';
import { useOwnParameterOnly } from '@/parts/job/OwnParameter';
import { RunDialog } from '@/parts/job/RunOnce';

function shown(role: Role, what: ReactNode, above?: string): void {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  const session: Session = { name: 'ann', rights: { everywhere: null, inGroups: { 2: role } } };
  queries.setQueryData(sessionQuery.queryKey, session);
  queries.setQueryData(['jobs', 'super', 9], above ?? null);
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter>{what}</MemoryRouter>
    </QueryClientProvider>,
  );
}

function Probe({ handler, group }: { handler: string; group: number }) {
  return <output>{useOwnParameterOnly(handler, group) ? 'its own' : 'any'}</output>;
}

afterEach(cleanup);

describe('the parameter of a run', () => {
  it.each<[Role, string, number, string]>([
    ['operator', 'orth.command', 2, 'its own'],
    ['operator', 'orth.http', 2, 'its own'],
    ['operator', 'report', 2, 'any'],
    ['editor', 'orth.command', 2, 'any'],
    ['editor', 'orth.command', 3, 'its own'],
  ])('that %s may give %s in group %i is %s', (role, handler, group, told) => {
    shown(role, <Probe handler={handler} group={group} />);
    expect(screen.getByRole('status').textContent).toBe(told);
  });

  it('is not asked for where the handler of the super task reads code', () => {
    const job = { id: 7, job_group: 2, job_desc: 'nightly', executor_handler: '', executor_param: '{"argv": []}' };
    const below = { ...job, executor_queue: 'q', super_task_id: 9, glue_type: 'GLUE_SHELL' } as unknown as Job;
    shown('operator', <RunDialog job={below} close={() => {}} />, 'orth.command');
    const field = screen.getByRole('dialog').querySelector('textarea');
    expect([field?.disabled, field?.value]).toEqual([true, '{"argv": []}']);
    expect(screen.getByText(/paramIsCode|“script”/)).toBeTruthy();
  });
});
