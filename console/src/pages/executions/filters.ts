// What the executions page can be asked for, as it stands in the address and as the API takes it.

import type { Cause } from '@/api/types';
import type { Filters } from '@/parts/useUrlFilters';
import { type ListedStatus, STATUSES, TERMINAL } from '@/status/statuses';

export const FILTERS = [
  'status',
  'job_group',
  'job_id',
  'cause',
  'executor',
  'batch_id',
  'since',
  'until',
  'text',
] as const;
export type FilterName = (typeof FILTERS)[number];
export type ExecutionFilters = Filters<FilterName>;

/** What the list begins with; in the address beside the filters, and no filter itself. */
export const SORTS = ['sort'] as const;
/** All that an address of the page may hold. */
export const KNOWN: readonly string[] = [...FILTERS, ...SORTS];

/** Whether there is a filter that the statistics know nothing of. */
export function beyondBars({ cause, executor, batch_id, text }: ExecutionFilters): boolean {
  return !!(cause || executor || batch_id || text);
}

export const CAUSES: Record<Cause, true> = {
  cron: true,
  fixed_rate: true,
  fixed_delay: true,
  at: true,
  manual: true,
  api: true,
  parent: true,
  retry: true,
  misfire: true,
  batch: true,
};

/**
 * The filter as the API takes it. An address is typed by people: what is no status, number or time is left out here, and
 * the page says so in the place of a list (`notUnderstood`).
 */
export function asQuery(filters: ExecutionFilters) {
  const number = (text: string | undefined) =>
    text && /^[1-9]\d{0,9}$/.test(text) && Number(text) <= LARGEST ? Number(text) : undefined;
  const { status, cause, executor, since, until, text } = filters;
  return {
    status: status === undefined ? undefined : statusesIn(status),
    cause: cause && Object.hasOwn(CAUSES, cause) ? (cause as Cause) : undefined,
    job_group: number(filters.job_group),
    job_id: number(filters.job_id),
    batch_id: number(filters.batch_id),
    executor,
    since: since && isInstant(since) ? since : undefined,
    until: until && isInstant(until) ? until : undefined,
    text,
  };
}

/** Statuses with commas between them, each once; undefined where one of them is none. */
function statusesIn(text: string): ListedStatus[] | undefined {
  const named = text.split(',').map((one) => one.trim());
  const found = STATUSES.filter((one) => named.includes(one));
  return named.every((one) => found.includes(one as ListedStatus)) ? found : undefined;
}

/**
 * What can be done to all that have these statuses. Nothing, where some of them would have to be left out: that would be
 * less than what is shown.
 */
export function bulkFor(statuses: readonly ListedStatus[] | undefined): 'retry' | 'kill' | null {
  const isFailure = (one: ListedStatus) => TERMINAL[one] && one !== 'success' && one !== 'cancelled';
  if (statuses === undefined || statuses.every(isFailure)) return 'retry';
  return statuses.some((one) => TERMINAL[one]) ? null : 'kill';
}

const LARGEST = 2 ** 31 - 1;
const AGE = /^(\d{1,9}(ms|s|m|h|d))+$/;

/** Whether it is an age or an instant, as the API reads them. */
function isInstant(text: string): boolean {
  return AGE.test(text.trim()) || (/^\d{4}-/.test(text) && !Number.isNaN(Date.parse(text.replace(' ', '+')))); // a plus sign arrives as a space
}

/** Bars for hours as long as there are not too many of them. */
export function bucketFor(filters: ExecutionFilters, now: number): 'hour' | 'day' {
  const { since = '24h', until } = filters;
  const age = /^(\d+)([mhd])$/.exec(since);
  const units = { m: 60_000, h: 3_600_000, d: 86_400_000 };
  const start = age ? now - Number(age[1]) * units[age[2] as keyof typeof units] : Date.parse(since);
  const end = until ? Date.parse(until) : now;
  return end - start <= 3 * units.d ? 'hour' : 'day';
}
