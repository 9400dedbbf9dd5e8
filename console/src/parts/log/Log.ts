// The log of one execution as this page has it: what was read, the reading, and its live end.

import { socketAddress } from '@/api/base';
import { api, got, sessionEnded } from '@/api/client';
import { Problem } from '@/api/problem';
import { LogBook, type LogPage } from '@/parts/log/LogBook';
import { LogReader } from '@/parts/log/LogReader';
import type { Match, Query, SearchPart } from '@/parts/log/LogSearch';
import { LogStream } from '@/parts/log/LogStream';
import { inTurn } from '@/parts/log/turns';

export type Page = LogPage & { end: boolean };

const TAIL = 500;

export class Log {
  readonly book = new LogBook();
  readonly reader = new LogReader(
    this.book,
    (from, limit) => this.page(from, limit),
    (error) => this.change({ trouble: error instanceof Error ? error.message : null }),
  );
  readonly stream = new LogStream({
    open: (from) => new WebSocket(socketAddress(`/api/v1/executions/${this.id}/log/ws?from=${from}`)),
    page: (from) => this.page(from, 1_000),
    next: () => this.book.last + 1,
    lines: (page) => this.book.put(page),
    trouble: (trouble) => this.change({ trouble }),
    refused: sessionEnded,
  });
  private listeners = new Set<() => void>();
  private opening = 0;
  state: { opened: boolean; error: unknown; trouble: string | null } = { opened: false, error: null, trouble: null };

  constructor(readonly id: number) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Read the end of it and follow what comes; also after a rest, in which any number of lines may have come. */
  async open(): Promise<void> {
    this.opening += 1;
    const mine = this.opening;
    this.reader.start();
    try {
      const end = await this.end();
      if (mine !== this.opening) return;
      this.book.put(end);
      this.change({ opened: true, error: null });
      if (end.end) this.stream.finish(end.to_line < end.from_line ? end.content : '');
      else this.stream.start();
    } catch (error) {
      if (mine === this.opening) this.change({ error });
    }
  }

  close(): void {
    this.opening += 1;
    this.stream.stop();
    this.reader.stop();
  }

  page(from: number, limit: number): Promise<Page> {
    return this.read({ from, limit });
  }

  /** `patience`: seconds after which it looks no further; the server's own where that is not said. */
  async search(query: Query, from: number, limit: number, signal: AbortSignal, patience?: number): Promise<SearchPart> {
    const params = {
      path: { execution_id: this.id },
      query: {
        ...(query.text && { q: query.text }),
        regex: query.regex,
        ignore_case: query.ignoreCase,
        ...(query.levels && { level: [...query.levels] }),
        from,
        limit,
        ...(patience !== undefined && { patience }),
      },
    };
    return inTurn(() => got(api.GET('/api/v1/executions/{execution_id}/log/search', { params, signal })), signal);
  }

  /** The first line that tells of an error; null when none does. */
  async firstError(): Promise<Match | null> {
    const { signal } = new AbortController();
    const query: Query = { text: '', regex: false, ignoreCase: false, levels: ['error'] };
    for (let from = 1; ; ) {
      const { matches, to_line, end } = await this.search(query, from, 1, signal);
      const [found] = matches;
      if (found || end || to_line < from) return found ?? null;
      from = to_line + 1;
    }
  }

  /** The last lines. Where an executor gives its log from the beginning only, and it is long, those. */
  private async end(): Promise<Page> {
    try {
      return await this.read({ tail: TAIL });
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 503 || this.book.last > 0) throw error;
      return this.page(1, 1_000);
    }
  }

  private read(query: { from?: number; limit?: number; tail?: number }): Promise<Page> {
    return got(
      api.GET('/api/v1/executions/{execution_id}/log', { params: { path: { execution_id: this.id }, query } }),
    );
  }

  private change(change: Partial<typeof this.state>): void {
    this.state = { ...this.state, ...change };
    for (const listener of this.listeners) listener();
  }
}
