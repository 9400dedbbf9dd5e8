import { describe, expect, it } from 'vitest';
import { endingOf, fateOf, footOf, type LogPlace } from '@/parts/log/ending';

const PLACE: LogPlace = {
  executor_address: 'http://10.0.0.7:9999',
  executor_seen: '2026-01-30T10:00:00.000Z',
  archived: 'no',
  archived_at: null,
  archiving: false,
  kept_until: '2026-03-01T10:00:00.000Z',
};
const NOW = Date.parse('2026-02-01T00:00:00Z');

describe('how a log ends', () => {
  it('with lines: as it was written, or as a copy of what is gone', () => {
    expect(endingOf(PLACE, 'ended', 5, NOW)).toEqual({ kind: 'finished' });
    expect(endingOf({ ...PLACE, archived: 'whole' }, 'ended', 5, NOW)).toEqual({ kind: 'finished' });
    const gone = { ...PLACE, executor_seen: null };
    expect(endingOf({ ...gone, archived: 'whole' }, 'ended', 5, NOW).kind).toBe('archived');
    expect(endingOf({ ...gone, archived: 'part' }, 'ended', 5, NOW).kind).toBe('archivedPart');
  });

  it('is not told where there is none: its execution is open, or was lost with its executor', () => {
    expect(footOf(undefined, 'open', 5, NOW)).toEqual({ kind: 'silent' });
    expect(footOf(PLACE, 'ended', 5, NOW)).toEqual({ kind: 'finished' });
    expect(endingOf(PLACE, 'lost', 5, NOW)).toEqual({ kind: 'lost', address: 'http://10.0.0.7:9999' });
    expect(endingOf({ ...PLACE, executor_seen: null, archived: 'part' }, 'lost', 5, NOW).kind).toBe('lost');
  });

  it('without lines: with the reason', () => {
    expect(endingOf({ ...PLACE, executor_address: null }, 'ended', 0, NOW)).toEqual({ kind: 'nobody' });
    expect(endingOf(PLACE, 'ended', 0, Date.parse('2026-04-01T00:00:00Z')).kind).toBe('expired');
    expect(endingOf({ ...PLACE, executor_seen: null }, 'ended', 0, NOW)).toEqual({
      kind: 'notArchived',
      address: 'http://10.0.0.7:9999',
      seen: null,
    });
    expect(endingOf({ ...PLACE, archived: 'whole' }, 'ended', 0, NOW)).toEqual({ kind: 'empty' });
  });

  it('was never begun where the executor that was chosen surely did not get the execution', () => {
    expect(fateOf({ status: 'trigger_failed', reason_code: 'script_refused' })).toBe('unhad');
    expect(fateOf({ status: 'trigger_failed', reason_code: 'never_resolved' })).toBe('ended');
    expect(fateOf({ status: 'failed', reason_code: 'result_lost' })).toBe('lost');
    expect(fateOf({ status: 'pending', reason_code: null })).toBe('open');
  });
});
