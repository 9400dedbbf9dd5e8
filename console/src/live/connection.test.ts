import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { isCut, LiveConnection, OPEN_WITHIN, pauseAfter, SILENT_AFTER, type Surroundings } from '@/live/connection';

/** What a browser's socket does, done by hand: it is closed when the other side answers, which here nobody does. */
class Line {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  closed = false;
  close(): void {
    this.closed = true;
  }
}

function site(more: Partial<Surroundings> = {}) {
  const lines: Line[] = [];
  const told: (readonly string[] | null)[] = [];
  let refusals = 0;
  const marks: (string | null)[] = [];
  const around: Surroundings = {
    since: 'mark',
    open: (since) => {
      marks.push(since);
      lines.push(new Line());
      return lines.at(-1) as unknown as WebSocket;
    },
    now: () => Date.now(),
    chance: () => 0,
    changed: (subjects) => told.push(subjects),
    refused: () => {
      refusals += 1;
    },
    ...more,
  };
  const connection = new LiveConnection(around);
  return { connection, lines, marks, told, refusals: () => refusals, last: () => lines.at(-1) as Line };
}

describe('the live connection', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('tells what changed, and nothing for a beat', () => {
    const { connection, told, last } = site();
    connection.start();
    last().onopen?.();
    last().onmessage?.({ data: '{"type":"beat"}' });
    last().onmessage?.({ data: '{"type":"changed","subjects":["executions"]}' });
    expect(connection.state).toEqual({ kind: 'live' });
    expect(told).toEqual([['executions']]);
  });

  it('asks for nothing again when the first line opens: what changed since its mark is told', () => {
    const { connection, marks, told, last } = site();
    connection.hide(false); // as a page does that is shown
    connection.start();
    last().onclose?.({ code: 1006 });
    connection.retryNow();
    last().onopen?.();
    expect([marks, told]).toEqual([['mark', 'mark'], []]);
    connection.pause(true);
    connection.pause(false);
    last().onopen?.();
    expect([marks.at(-1), told]).toEqual([null, [null]]);
  });

  it('looks at everything when there is no mark to go by', () => {
    const { connection, told, last } = site({ since: null });
    connection.start();
    last().onopen?.();
    expect(told).toEqual([null]);
  });

  it('waits longer after each failure, and looks at everything once it is back', () => {
    const { connection, lines, told, last } = site();
    connection.start();
    last().onopen?.();
    last().onclose?.({ code: 1006 });
    expect(connection.state).toEqual({ kind: 'waiting', retryAt: Date.now() + 1_000 });
    vi.advanceTimersByTime(1_000);
    expect(lines).toHaveLength(2);
    last().onclose?.({ code: 1006 });
    expect(connection.state).toEqual({ kind: 'waiting', retryAt: Date.now() + 2_000 });
    connection.retryNow();
    last().onopen?.();
    expect(told).toEqual([null]);
  });

  it('takes silence for a cut line', () => {
    const { connection, last } = site();
    connection.start();
    last().onopen?.();
    vi.advanceTimersByTime(SILENT_AFTER);
    expect(last().closed).toBe(true);
    expect(connection.state.kind).toBe('waiting');
    last().onclose?.({ code: 1006 }); // when the dead line is closed at last, that is no other cut
    expect(connection.state).toEqual({ kind: 'waiting', retryAt: Date.now() + 1_000 });
  });

  it('gives up an attempt that nobody answers, and stays cut until one is', () => {
    const { connection, lines, last } = site();
    connection.start();
    expect(isCut(connection.state)).toBe(false);
    vi.advanceTimersByTime(OPEN_WITHIN);
    expect([last().closed, connection.state.kind]).toEqual([true, 'waiting']);
    vi.advanceTimersByTime(1_000);
    expect([lines.length, connection.state.kind, isCut(connection.state)]).toEqual([2, 'connecting', true]);
    last().onopen?.();
    vi.advanceTimersByTime(OPEN_WITHIN);
    expect(connection.state.kind).toBe('live');
  });

  it('passes on what else is said, and lets a line without beats be silent', () => {
    const words: unknown[] = [];
    const { connection, told, last } = site({ said: (message) => words.push(message), beatless: true });
    connection.start();
    last().onopen?.();
    last().onmessage?.({ data: '{"type":"agent_registered","seq":7}' });
    vi.advanceTimersByTime(2 * SILENT_AFTER);
    expect([words, told, connection.state.kind]).toEqual([[{ type: 'agent_registered', seq: 7 }], [], 'live']);
  });

  it('rests while paused or hidden, and catches up afterwards', () => {
    const { connection, lines, told, last } = site();
    connection.start();
    last().onopen?.();
    connection.pause(true);
    expect([connection.state.kind, last().closed]).toEqual(['paused', true]);
    connection.hide(true);
    connection.hide(false);
    expect(lines).toHaveLength(1);
    connection.pause(false);
    last().onopen?.();
    expect(lines).toHaveLength(2);
    expect(told).toEqual([null]);
  });

  it('knows up to when everything was told when it was paused', () => {
    const { connection, last } = site();
    connection.start();
    last().onopen?.();
    vi.advanceTimersByTime(5_000);
    connection.pause(true);
    expect(connection.pausedAt).toBe(Date.now());
    vi.advanceTimersByTime(60_000);
    connection.hide(true);
    connection.hide(false);
    connection.pause(true);
    expect(connection.pausedAt).toBe(Date.now() - 60_000);
    connection.pause(false);
    last().onopen?.();
    const heard = Date.now();
    last().onclose?.({ code: 1006 });
    vi.advanceTimersByTime(500);
    connection.pause(true); // the line was cut: nobody knows what happened since
    expect(connection.pausedAt).toBe(heard);
  });

  it('does not come back with a session that is over', () => {
    const { connection, lines, refusals, last } = site();
    connection.start();
    last().onopen?.();
    last().onclose?.({ code: 4401 });
    vi.advanceTimersByTime(120_000);
    expect([refusals(), lines.length]).toEqual([1, 1]);
  });

  it('never waits longer than half a minute and a bit', () => {
    expect(pauseAfter(1, 0)).toBe(1_000);
    expect(pauseAfter(50, 1)).toBe(37_500);
  });
});
