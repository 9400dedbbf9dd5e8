// Definitions as a file: a list of what `POST /api/v1/jobs` takes, code included.

import type { Job } from '@/api/types';
import { DRAFT_FIELDS } from '@/parts/job/draft';

export function exported(jobs: readonly Job[]): string {
  const definitions = jobs.map((job) => Object.fromEntries(DRAFT_FIELDS.map((field) => [field, job[field] ?? null])));
  return `${JSON.stringify(definitions, null, 2)}\n`;
}
