import { describe, expect, it } from 'vitest';
import { asQuery, bucketFor } from '@/pages/executions/filters';

describe('the filters of executions', () => {
  it('leave out what nobody can mean', () => {
    const query = asQuery({ status: 'broken', job_id: '7', job_group: '-1', cause: 'toString', text: 'x' });
    expect(query).toMatchObject({ status: undefined, job_id: 7, job_group: undefined, cause: undefined, text: 'x' });
  });

  it('show hours for a few days and days for more', () => {
    const now = Date.parse('2026-01-10T00:00:00Z');
    expect(bucketFor({}, now)).toBe('hour');
    expect(bucketFor({ since: '7d' }, now)).toBe('day');
    expect(bucketFor({ since: '2026-01-01T00:00:00Z', until: '2026-01-01T06:00:00Z' }, now)).toBe('hour');
  });
});
