import { describe, expect, test } from 'vitest';
import type { Job } from '@/api/types';
import { exported } from '@/pages/jobs/exporting';
import { DRAFT_FIELDS, defaults } from '@/parts/job/draft';

describe('exported', () => {
  test('has what a new job takes, code included, and nothing that the server keeps', () => {
    const job = { ...defaults(3), glue_type: 'GLUE_SHELL', glue_source: 'date', id: 7, version: 4, trigger_status: 1 };
    const [definition] = JSON.parse(exported([job as unknown as Job]));
    expect(Object.keys(definition)).toEqual(DRAFT_FIELDS);
    expect(definition).toMatchObject({ job_group: 3, glue_source: 'date', calendar_id: null });
  });
});
