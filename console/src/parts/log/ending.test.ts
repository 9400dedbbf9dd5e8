import { describe, expect, it } from 'vitest';
import { endingOf, fateOf, footOf, type LogPlace, saidBesides, stateOf } from '@/parts/log/ending';

const PLACE: LogPlace = {
  executor_address: 'http://10.0.0.7:9999',
  executor_seen: '2026-01-30T10:00:00.000Z',
  archived: 'no',
  archived_at: null,
  archiving: false,
  kept_until: '2026-03-01T10:00:00.000Z',
};
/** Word for word what executors answer (src/orth/executor/run_logs.py). */
const NONE_HERE =
  'There is no log of execution 7 here: it did not run on this executor, died with it as it began, or was cleaned up.';
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

  it('without lines of what nobody said to have begun: nothing was to be archived or removed', () => {
    expect(fateOf({ status: 'failed', reason_code: 'killed', start_time: null })).toBe('unbegun');
    expect(fateOf({ status: 'failed', reason_code: 'killed', start_time: '2026-01-30T10:00:00.000Z' })).toBe('ended');
    expect(endingOf(PLACE, 'unbegun', 0, NOW, NONE_HERE)).toEqual({ kind: 'unbegun' });
    expect(endingOf(PLACE, 'unbegun', 0, Date.parse('2026-04-01T00:00:00Z'))).toEqual({ kind: 'unbegun' });
    expect(endingOf(PLACE, 'unbegun', 5, NOW)).toEqual({ kind: 'finished' });
    // Executors of other makes never say when something began: the log of one may have gone with it.
    expect(endingOf({ ...PLACE, executor_seen: null }, 'unbegun', 0, NOW).kind).toBe('notArchived');
  });

  it('without lines on an executor that is there and has none: it is not to be had elsewhere', () => {
    expect(endingOf(PLACE, 'ended', 0, NOW, NONE_HERE)).toEqual({ kind: 'missing', address: 'http://10.0.0.7:9999' });
    expect(saidBesides(NONE_HERE)).toBe('');
    expect(saidBesides('the disk is broken')).toBe('the disk is broken');
  });

  it('was never begun where the executor that was chosen surely did not get the execution', () => {
    expect(fateOf({ status: 'trigger_failed', reason_code: 'script_refused', start_time: null })).toBe('unhad');
    expect(fateOf({ status: 'trigger_failed', reason_code: 'never_resolved', start_time: null })).toBe('ended');
    expect(fateOf({ status: 'failed', reason_code: 'result_lost', start_time: null })).toBe('lost');
    expect(fateOf({ status: 'pending', reason_code: null, start_time: null })).toBe('open');
  });
});

describe('the foot', () => {
  const read = { opened: true, error: null };

  it('says that a log is loading until it was read once', () => {
    expect(stateOf('resting', false, { opened: false, error: null })).toBe('loading');
    expect(stateOf('resting', true, { opened: false, error: null })).toBe('loading');
    expect(stateOf('resting', false, { opened: false, error: new Error('away') })).toBe('unread');
  });

  it('says how lines come, or that none do', () => {
    expect(stateOf('live', false, read)).toBe('live');
    expect(stateOf('live', true, read)).toBe('paused');
    expect(stateOf('resting', false, read)).toBe('paused');
    expect(stateOf('over', true, read)).toBe('finished');
  });
});
