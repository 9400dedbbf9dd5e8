import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { LogPage } from '@/parts/log/LogBook';
import { LogStream, OPEN_WITHIN, POLL_EVERY, SILENT_AFTER, TRY_SOCKET_AFTER } from '@/parts/log/LogStream';

class Line {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: string }) => void) | null = null;
  onclose: ((event: { code: number }) => void) | null = null;
  closed = false;
  constructor(readonly from: number) {}
  close(): void {
    this.closed = true; // `onclose` is for when the other side answers
  }
  say(message: object): void {
    this.onmessage?.({ data: JSON.stringify(message) });
  }
}

function site() {
  const sockets: Line[] = [];
  const lines: LogPage[] = [];
  const troubles: (string | null)[] = [];
  const asked: number[] = [];
  let answer: LogPage & { end: boolean } = { from_line: 1, to_line: 0, content: '', end: false };
  let refusals = 0;
  const stream = new LogStream({
    open: (from) => {
      sockets.push(new Line(from));
      return sockets.at(-1) as unknown as WebSocket;
    },
    page: async (from) => {
      asked.push(from);
      return answer;
    },
    next: () => (lines.at(-1)?.to_line ?? 0) + 1,
    lines: (page) => lines.push(page),
    trouble: (message) => troubles.push(message),
    refused: () => {
      refusals += 1;
    },
  });
  return {
    stream,
    sockets,
    lines,
    troubles,
    asked,
    refusals: () => refusals,
    last: () => sockets.at(-1) as Line,
    answers: (page: LogPage & { end: boolean }) => {
      answer = page;
    },
  };
}

describe('the live end of a log', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('gives lines as they come, and says when it is over', () => {
    const { stream, lines, last } = site();
    stream.start();
    last().onopen?.();
    last().say({ type: 'lines', from_line: 1, to_line: 2, content: 'a\nb' });
    expect(stream.state).toEqual({ kind: 'live' });
    last().say({ type: 'end', to_line: 2, status: 'success', note: '' });
    expect(lines).toHaveLength(1);
    expect([stream.state, last().closed]).toEqual([{ kind: 'over', note: '' }, true]);
    stream.start();
    expect(stream.state.kind).toBe('over');
  });

  it('goes on from the next line after it rested', () => {
    const { stream, sockets, last } = site();
    stream.start();
    last().say({ type: 'lines', from_line: 1, to_line: 7, content: '' });
    stream.stop();
    expect([stream.state.kind, last().closed]).toEqual(['resting', true]);
    stream.start();
    expect(sockets.map((one) => one.from)).toEqual([1, 8]);
  });

  it('looks every three seconds while there is no socket, and tries for one again', async () => {
    const { stream, sockets, lines, asked, last, answers } = site();
    stream.start();
    last().onclose?.({ code: 1006 });
    expect(stream.state.kind).toBe('polling');
    await vi.advanceTimersByTimeAsync(0);
    answers({ from_line: 1, to_line: 1, content: 'a', end: false });
    await vi.advanceTimersByTimeAsync(POLL_EVERY);
    expect([asked, lines.length]).toEqual([[1, 1], 1]);
    answers({ from_line: 2, to_line: 1, content: '', end: false });
    await vi.advanceTimersByTimeAsync(POLL_EVERY * TRY_SOCKET_AFTER);
    expect(sockets.map((one) => one.from)).toEqual([1, 2]);
  });

  it('ends by a look as well, with the reason for having no lines', async () => {
    const { stream, last, answers } = site();
    answers({ from_line: 1, to_line: 0, content: 'it was cleaned up', end: true });
    stream.start();
    last().onclose?.({ code: 1006 });
    await vi.advanceTimersByTimeAsync(0);
    expect(stream.state).toEqual({ kind: 'over', note: 'it was cleaned up' });
  });

  it('tells of trouble and that it is over', () => {
    const { stream, troubles, last } = site();
    stream.start();
    last().say({ type: 'trouble', message: 'no answer' });
    last().say({ type: 'lines', from_line: 1, to_line: 1, content: 'a' });
    expect(troubles).toEqual(['no answer', null]);
  });

  it('looks by itself where nobody answers the attempt to have a socket', () => {
    const { stream, last } = site();
    stream.start();
    vi.advanceTimersByTime(OPEN_WITHIN);
    expect([stream.state.kind, last().closed]).toEqual(['polling', true]);
  });

  it('takes silence for a cut line, and does not come back with a session that is over', () => {
    const { stream, sockets, refusals, last } = site();
    stream.start();
    last().onopen?.();
    vi.advanceTimersByTime(SILENT_AFTER);
    expect(stream.state.kind).toBe('polling');
    const other = site();
    other.stream.start();
    other.last().onclose?.({ code: 4401 });
    expect([other.refusals(), refusals(), sockets.length]).toEqual([1, 0, 1]);
  });
});
