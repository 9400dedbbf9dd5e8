import { describe, expect, it } from 'vitest';
import { asBegun, placed, stopsOf } from '@/pages/execution/phases';

const BASE = {
  status: 'pending',
  phase: 'running',
  schedule_time: '2026-01-30T10:00:00.000Z',
  trigger_time: '2026-01-30T10:00:00.100Z',
  dispatch_time: '2026-01-30T10:00:00.150Z',
  start_time: '2026-01-30T10:00:00.600Z',
  handle_time: null,
  duration_ms: null,
  executor_address: 'http://10.0.0.7:9999',
  reason_code: null,
} as const;

const states = (one: Parameters<typeof stopsOf>[0]) => stopsOf(one).map((stop) => stop.state);

describe('the stops of an execution', () => {
  it('are reached one after the other', () => {
    expect(states(BASE)).toEqual(['done', 'done', 'done', 'now', 'ahead']);
    expect(states({ ...BASE, phase: 'queued', start_time: null })).toEqual(['done', 'done', 'now', 'ahead', 'ahead']);
    expect(states({ ...BASE, status: 'init', phase: 'opened' })).toEqual(['now', 'ahead', 'ahead', 'ahead', 'ahead']);
    expect(states({ ...BASE, status: 'init', phase: 'never heard of' })[0]).toBe('now');
  });

  it('end where it failed', () => {
    const ended = { ...BASE, phase: 'ended', handle_time: '2026-01-30T10:00:02.600Z' };
    expect(states({ ...ended, status: 'success' })).toEqual(['done', 'done', 'done', 'done', 'done']);
    const handler = ['done', 'done', 'done', 'failed', 'done'];
    expect(states({ ...ended, status: 'failed' })).toEqual(handler);
    expect(states({ ...ended, status: 'timeout' })).toEqual(handler);
    const unreported = ['done', 'done', 'done', 'done', 'failed'];
    expect(states({ ...ended, status: 'failed', reason_code: 'result_lost' })).toEqual(unreported);
    expect(states({ ...ended, status: 'timeout', reason_code: 'time_limit' })).toEqual(unreported);
    const never = { ...ended, status: 'trigger_failed', start_time: null, executor_address: null } as const;
    expect(states(never)).toEqual(['done', 'failed', 'skipped', 'skipped', 'skipped']);
    expect(states({ ...ended, status: 'failed', start_time: null })).toEqual([
      'done',
      'done',
      'done',
      'skipped',
      'failed',
    ]);
  });

  it('say how long it waited and ran', () => {
    const stops = stopsOf({ ...BASE, status: 'success', phase: 'ended', handle_time: '2026-01-30T10:00:02.600Z' });
    expect(stops.map((stop) => stop.took)).toEqual([null, 50, 450, 2_000, null]);
    expect(stops.map((stop) => stop.at).slice(0, 2)).toEqual([BASE.schedule_time, BASE.dispatch_time]);
  });

  it('leave out the sending of one whose result was faster than its noting', () => {
    const stops = stopsOf({ ...BASE, dispatch_time: null });
    expect(stops.map((stop) => stop.took)).toEqual([null, null, 500, null, null]);
    expect(stops[1]?.at).toBe(BASE.start_time);
  });
});

describe('what its log tells', () => {
  const line = '2026-01-30T10:00:01.000Z';
  it('is when an execution began that was only known to be taken', () => {
    const taken = { ...BASE, phase: 'dispatched', start_time: null };
    expect(asBegun(taken, line)).toEqual({ ...taken, phase: 'running', start_time: line });
    expect(asBegun(taken, null)).toBe(taken);
    const over = { ...taken, status: 'failed' } as const;
    expect(asBegun(over, line)).toBe(over);
  });
});

describe('a span in a longer one', () => {
  it('lies where it belongs and can be seen', () => {
    expect(placed(25, 75, 0, 100)).toEqual({ left: 25, width: 50 });
    expect(placed(100, 100, 0, 100)).toEqual({ left: 99, width: 1 });
    expect(placed(0, 0, 0, 0)).toEqual({ left: 0, width: 1 });
  });
});
