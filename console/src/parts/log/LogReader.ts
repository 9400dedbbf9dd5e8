// Fetches the lines somebody looks at, one request at a time and the latest wish first: who drags the scroll bar
// through a million lines does not ask for all of them.

import type { LogBook, LogPage } from '@/parts/log/LogBook';

/** Lines before and after what is in view that are fetched along. */
const AROUND = 60;

export type Ask = (from: number, limit: number) => Promise<LogPage & { end: boolean }>;

const AFTER_TROUBLE = 3_000;

export class LogReader {
  private span = { first: 1, last: 0 };
  private busy = false;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;
  error: unknown = null;

  constructor(
    private readonly book: LogBook,
    private readonly ask: Ask,
    private readonly troubled: (error: unknown) => void,
  ) {}

  want(first: number, last: number): void {
    this.span = { first, last };
    this.book.touch(first, last);
    void this.read();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  start(): void {
    this.stopped = false;
  }

  private async read(): Promise<void> {
    const { first, last } = this.span;
    const next = this.book.wanted(first, last) ?? this.book.wanted(first - AROUND, last + AROUND);
    if (this.busy || this.stopped || !next) return;
    this.busy = true;
    try {
      const page = await this.ask(next.from, Math.min(next.limit, 1_000));
      this.taken(page, next.from);
      this.tell(null);
      this.busy = false;
      void this.read();
    } catch (error) {
      this.busy = false;
      this.tell(error);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => void this.read(), AFTER_TROUBLE);
    }
  }

  /** Where there should be lines and are none, there never will be any: asking again would never end. */
  private taken(page: LogPage, asked: number): void {
    if (page.to_line < page.from_line) this.book.miss(asked, this.book.last);
    else this.book.put(page, asked);
  }

  private tell(error: unknown): void {
    if (error === this.error) return;
    this.error = error;
    this.troubled(error);
  }
}
