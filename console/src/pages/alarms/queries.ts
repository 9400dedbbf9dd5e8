// Alarms, their channels and silences. No event tells of them: the page asks now and then.

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

export function historyQuery(state: MessageState | undefined) {
  return infiniteQueryOptions({
    queryKey: ['alarms', 'history', state],
    queryFn: ({ pageParam }) =>
      got(api.GET('/api/v1/alarms', { params: { query: { ...at(pageParam), ...(state && { state }) } } })),
    ...paged,
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

export function silencesQuery(over: boolean) {
  return infiniteQueryOptions({
    queryKey: ['alarms', 'silences', over],
    queryFn: ({ pageParam }) =>
      got(api.GET('/api/v1/alarms/silences', { params: { query: { ...at(pageParam), over } } })),
    ...paged,
  });
}

/** Jobs to choose from. */
export const jobNamesQuery = queryOptions({
  queryKey: ['jobs', 'names'],
  queryFn: async () => {
    const page = await got(api.GET('/api/v1/jobs', { params: { query: { limit: 200 } } }));
    return page.items.map(({ id, job_group, job_desc }) => ({ id, job_group, name: job_desc ?? `#${id}` }));
  },
  staleTime: 30_000,
});
