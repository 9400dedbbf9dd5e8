import { describe, expect, it } from 'vitest';
import { lastsSince } from '@/pages/executions/lasting';

const DUE = '2026-03-01T12:00:00Z';
const AHEAD = '2026-03-01T11:59:58Z';
const LATER = '2026-03-01T12:00:03Z';
const NOW = Date.parse('2026-03-01T12:01:00Z');
const taken = {
  status: 'pending' as const,
  phase: 'dispatched',
  queue_position: null,
  schedule_time: DUE,
  dispatch_time: LATER,
  start_time: null,
};

describe('how long an execution lasts', () => {
  it('counts from its start, once that is known', () => {
    expect(lastsSince({ ...taken, start_time: DUE }, NOW)).toBe(DUE);
    expect(lastsSince({ ...taken, status: 'success', start_time: DUE }, NOW)).toBe(DUE);
  });

  it('counts from when its executor took it, before that', () => {
    expect(lastsSince(taken, NOW)).toBe(LATER);
    expect(lastsSince({ ...taken, schedule_time: null }, NOW)).toBe(LATER);
  });

  it('counts from its time when it was sent ahead, and not before', () => {
    const ahead = { ...taken, dispatch_time: AHEAD };
    expect(lastsSince(ahead, NOW)).toBe(DUE);
    expect(lastsSince(ahead, Date.parse(DUE) - 1)).toBeNull();
  });

  it('is not counted for one that waits its turn on its executor', () => {
    expect(lastsSince({ ...taken, queue_position: 2 }, NOW)).toBeNull();
    expect(lastsSince({ ...taken, phase: 'running', queue_position: 2 }, NOW)).toBe(LATER);
  });

  it('is not known of one that waits, or that never started', () => {
    for (const phase of ['opened', 'dispatching', 'offered', 'queued']) {
      expect(lastsSince({ ...taken, phase }, NOW)).toBeNull();
    }
    expect(lastsSince({ ...taken, status: 'timeout' }, NOW)).toBeNull();
    expect(lastsSince({ ...taken, dispatch_time: null }, NOW)).toBeNull();
  });
});
