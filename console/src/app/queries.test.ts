import { describe, expect, it } from 'vitest';
import { jobQuery } from '@/api/jobs';
import { scriptQuery } from '@/api/scripts';
import { isToldBy, type Subject } from '@/app/queries';
import { failingQuery, historyQuery } from '@/pages/alarms/queries';
import { clusterQuery, overviewQuery, statsQuery } from '@/pages/dashboard/queries';
import { executionsQuery } from '@/pages/executions/queries';
import { boardQuery } from '@/pages/jobs/queries';
import { scriptsQuery, versionsQuery } from '@/pages/scripts/queries';

const SUBJECTS: Subject[] = ['executions', 'jobs', 'groups', 'executors', 'services', 'cluster', 'alarms'];

function tellers({ queryKey, meta }: { queryKey: readonly unknown[]; meta?: object | undefined }): string[] {
  return SUBJECTS.filter((one) => isToldBy(one, { queryKey, meta } as Parameters<typeof isToldBy>[1]));
}

describe('pages that do not ask by themselves', () => {
  it('are told of everything they show', () => {
    expect(tellers(boardQuery({}))).toEqual(['executions', 'jobs', 'executors']);
    expect(tellers(jobQuery(7))).toEqual(['executions', 'jobs']);
    expect(tellers(statsQuery)).toEqual(['executions', 'jobs', 'executors']);
    expect(tellers(overviewQuery)).toEqual(['executions', 'jobs', 'executors']);
    expect(tellers(clusterQuery)).toEqual(['cluster']);
    expect(tellers(failingQuery)).toEqual(['alarms']);
    expect(tellers(historyQuery(undefined))).toEqual(['alarms']);
    expect(tellers(executionsQuery({}))).toEqual(['executions', 'alarms']);
    expect(tellers(scriptsQuery)).toEqual(['jobs']);
    expect(tellers(scriptQuery(7))).toEqual(['jobs', 'groups']);
    expect(tellers(versionsQuery(7))).toEqual(['jobs']);
  });
});
