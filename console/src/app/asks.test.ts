import { QueryClient } from '@tanstack/react-query';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { api } from '@/api/client';
import { groupsQuery } from '@/api/groups';
import { ask as askDashboard } from '@/pages/dashboard/asks';
import { historyQuery, overviewQuery, statsQuery } from '@/pages/dashboard/queries';
import { ask as askExecutions } from '@/pages/executions/asks';
import { executionsQuery, histogramQuery } from '@/pages/executions/queries';
import { ask as askExecutors } from '@/pages/executors/asks';
import { executorsQuery, groupsQuery as groupsOfExecutors } from '@/pages/executors/queries';
import { ask as askJobs } from '@/pages/jobs/asks';
import { boardQuery } from '@/pages/jobs/queries';
import { ask as askScripts } from '@/pages/scripts/asks';
import { scriptsQuery } from '@/pages/scripts/queries';
import { ask as askTimeline } from '@/pages/timeline/asks';
import { askedFor, newestQuery, upcomingQuery } from '@/pages/timeline/queries';

type Ask = (queries: QueryClient, params: URLSearchParams) => void;

function asked(ask: Ask, search: string): unknown[] {
  const queries = new QueryClient();
  ask(queries, new URLSearchParams(search));
  return queries
    .getQueryCache()
    .getAll()
    .map(({ queryKey }) => queryKey);
}

// What is asked for under another key than the page's own would be asked for twice.
describe('what is asked for ahead', () => {
  beforeEach(() => {
    vi.spyOn(api, 'GET').mockReturnValue(new Promise(() => {}) as never);
  });

  it('is what the list of executions shows, by the filters of the address', () => {
    const filters = { status: 'failed', job_id: '7' };
    expect(asked(askExecutions, 'status=failed&job_id=7&sort=opened')).toEqual([
      groupsQuery.queryKey,
      executionsQuery(filters).queryKey,
      histogramQuery(filters, Date.now()).queryKey,
    ]);
  });

  it('is no list whose filters nobody understands', () => {
    expect(asked(askExecutions, 'job_id=seven')).toEqual([groupsQuery.queryKey]);
    expect(asked(askExecutions, 'status=failed&else=1')).toEqual([groupsQuery.queryKey]);
    expect(asked(askJobs, 'only=strange')).toEqual([groupsQuery.queryKey]);
  });

  it('is what the other first pages show', () => {
    expect(asked(askJobs, 'text=report')).toEqual([groupsQuery.queryKey, boardQuery({ text: 'report' }).queryKey]);
    expect(asked(askDashboard, 'span=7d')).toEqual([
      statsQuery.queryKey,
      overviewQuery.queryKey,
      historyQuery('7d').queryKey,
    ]);
    expect(asked(askExecutors, '')).toEqual([executorsQuery.queryKey, groupsOfExecutors.queryKey]);
    expect(asked(askScripts, '')).toEqual([groupsQuery.queryKey, scriptsQuery.queryKey]);
    expect(asked(askTimeline, 'hours=6&view=table')).toEqual([
      groupsQuery.queryKey,
      upcomingQuery.queryKey,
      newestQuery(askedFor('6', null, undefined)).queryKey,
    ]);
  });
});
