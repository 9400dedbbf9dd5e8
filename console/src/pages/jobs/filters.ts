// What the list of jobs can be asked for, as it stands in the address and as the API takes it.

import type { operations } from '@/api/schema';
import type { Filters } from '@/parts/useUrlFilters';

export type BoardQuery = NonNullable<operations['board_api_v1_jobs_board_get']['parameters']['query']>;
export type Only = NonNullable<BoardQuery['only']>;

export const FILTERS = ['only', 'job_group', 'author', 'tag', 'text'] as const;
export type FilterName = (typeof FILTERS)[number];
export type JobFilters = Filters<FilterName>;

/** A view that is added to the API and not here does not compile. */
const VIEWS: Record<Only, true> = { failing: true, paused: true, never_ran: true, no_executor: true, no_handler: true };
export const ONLY = Object.keys(VIEWS) as Only[];

/**
 * The filter as the API takes it. An address is typed by people: what is no view or number is left out here, and the page
 * says so in the place of a list (`notUnderstood`).
 */
export function asQuery({ only, job_group, author, tag, text }: JobFilters): BoardQuery {
  const tags = tagsIn(tag);
  return {
    only: ONLY.find((one) => one === only),
    job_group: job_group && /^[1-9]\d{0,9}$/.test(job_group) ? Number(job_group) : undefined,
    author: author?.trim() || undefined,
    tag: tags.length > 0 ? tags : undefined,
    text: text?.trim() || undefined,
  };
}

/** The tags that an address asks for: all of them must be there. */
export function tagsIn(text: string | undefined): string[] {
  const tags = (text ?? '').split(',').map((tag) => tag.trim().toLowerCase());
  return [...new Set(tags.filter(Boolean))];
}
