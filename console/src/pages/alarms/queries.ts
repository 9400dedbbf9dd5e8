// Alarms, their channels and silences, told live. Only that a silence is over is told by no event: the clock ends it.

import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { api, got } from '@/api/client';
import type { components } from '@/api/schema';

type Schemas = components['schemas'];

export type Failing = Schemas['orth__coordinator__http__alarms__FailingShown'];
export type Alarm = Schemas['AlarmShown'];
export type AlarmState = Schemas['AlarmState'];
export type Channel = Schemas['ChannelShown'];
export type AlarmRule = Schemas['RuleShown'];
export type Preview = Schemas['PreviewShown'];
export type Silence = Schemas['SilenceShown'];

/** States by which the history can be narrowed. */
export const MESSAGE_STATES = ['waiting', 'sending', 'told', 'failed'] as const;
export type MessageState = (typeof MESSAGE_STATES)[number];

const paged = {
  initialPageParam: null as string | null,
  getNextPageParam: (page: { next_cursor: string | null }) => page.next_cursor,
};
const at = (cursor: string | null) => ({ limit: 50, ...(cursor && { cursor }) });

export const failingQuery = infiniteQueryOptions({
  queryKey: ['alarms', 'failing'],
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/alarms/failing', { params: { query: at(pageParam) } })),
  ...paged,
});

/** Whether one job is failing; null where it is not. */
export function failingOfJobQuery(jobId: number) {
  return queryOptions({
    queryKey: ['alarms', 'failing', jobId],
    queryFn: async (): Promise<Failing | null> => {
      const { items } = await got(api.GET('/api/v1/alarms/failing', { params: { query: { job_id: jobId } } }));
      return items[0] ?? null;
    },
  });
}

export function historyQuery(state: MessageState | undefined, jobId?: number) {
  const wanted = { ...(state && { state }), ...(jobId !== undefined && { job_id: jobId }) };
  return infiniteQueryOptions({
    queryKey: ['alarms', 'history', wanted],
    queryFn: ({ pageParam }) => got(api.GET('/api/v1/alarms', { params: { query: { ...at(pageParam), ...wanted } } })),
    ...paged,
  });
}

/** The last messages about one job. */
export function lastOfJobQuery(jobId: number, limit: number) {
  return queryOptions({
    queryKey: ['alarms', 'last', jobId, limit],
    queryFn: () => got(api.GET('/api/v1/alarms', { params: { query: { job_id: jobId, limit } } })),
  });
}

export const channelsQuery = infiniteQueryOptions({
  queryKey: ['alarms', 'channels'],
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/alarms/channels', { params: { query: at(pageParam) } })),
  ...paged,
});

export const rulesQuery = infiniteQueryOptions({
  queryKey: ['alarms', 'rules'],
  queryFn: ({ pageParam }) => got(api.GET('/api/v1/alarms/rules', { params: { query: at(pageParam) } })),
  ...paged,
});

/** What is told of one job; null where this version cannot read it. */
export function ruleOfJobQuery(jobId: number) {
  return queryOptions({
    queryKey: ['alarms', 'rules', jobId],
    meta: { alsoToldBy: ['jobs'] },
    queryFn: async (): Promise<AlarmRule | null> => {
      const { items } = await got(api.GET('/api/v1/alarms/rules', { params: { query: { job_id: jobId } } }));
      return items[0] ?? null;
    },
  });
}

export function silencesQuery(over: boolean) {
  return infiniteQueryOptions({
    queryKey: ['alarms', 'silences', over],
    queryFn: ({ pageParam }) =>
      got(api.GET('/api/v1/alarms/silences', { params: { query: { ...at(pageParam), over } } })),
    ...paged,
  });
}
