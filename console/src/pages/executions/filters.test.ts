import { describe, expect, it } from 'vitest';
import { asQuery, bucketFor, bulkFor } from '@/pages/executions/filters';

describe('the filters of executions', () => {
  it('leave out what nobody can mean', () => {
    const query = asQuery({ status: 'broken', job_id: '7', job_group: '-1', cause: 'toString', text: 'x' });
    expect(query).toMatchObject({ status: undefined, job_id: 7, job_group: undefined, cause: undefined, text: 'x' });
  });

  it('have several statuses at once, each once, and none that there is not', () => {
    expect(asQuery({ status: 'failed' }).status).toEqual(['failed']);
    expect(asQuery({ status: 'timeout,failed' }).status?.sort()).toEqual(['failed', 'timeout']);
    expect(asQuery({ status: 'failed, failed' }).status).toEqual(['failed']);
    expect(asQuery({ status: 'cancelled' }).status).toEqual(['cancelled']);
    for (const status of ['failed,lost', 'failed,', ',', 'FAILED', 'failed;timeout'])
      expect(asQuery({ status }).status).toBeUndefined();
  });

  it('say what can be done to all that is shown, and nothing where it would be done to a part', () => {
    expect(bulkFor(undefined)).toBe('retry');
    expect(bulkFor(['failed', 'timeout', 'trigger_failed'])).toBe('retry');
    expect(bulkFor(['init', 'pending'])).toBe('kill');
    for (const mixed of [['success'], ['failed', 'success'], ['failed', 'pending'], ['pending', 'success']] as const)
      expect(bulkFor(mixed)).toBeNull();
    for (const mixed of [['cancelled'], ['cancelled', 'failed'], ['cancelled', 'pending']] as const)
      expect(bulkFor(mixed)).toBeNull();
  });

  it('know times from what is none', () => {
    for (const since of [
      '24h',
      '1h30m',
      '500ms',
      '2026-01-01',
      '2026-01-01T06:00:00.000Z',
      '2026-01-01T06:00:00+02:00',
    ])
      expect(asQuery({ since, until: since })).toMatchObject({ since, until: since });
    for (const since of ['abc', '24', 'h', '2026-13-45', '-2h', 'yesterday'])
      expect(asQuery({ since, until: since })).toMatchObject({ since: undefined, until: undefined });
    expect(asQuery({ job_id: '2147483647', batch_id: '2147483648' })).toMatchObject({
      job_id: 2147483647,
      batch_id: undefined,
    });
  });

  it('show hours for a few days and days for more', () => {
    const now = Date.parse('2026-01-10T00:00:00Z');
    expect(bucketFor({}, now)).toBe('hour');
    expect(bucketFor({ since: '7d' }, now)).toBe('day');
    expect(bucketFor({ since: '2026-01-01T00:00:00Z', until: '2026-01-01T06:00:00Z' }, now)).toBe('hour');
  });
});
