// What is known of one log: the lines around where somebody reads, in chunks of which only the latest read are kept.
// So a log of any length takes a bounded amount of memory. What is not here is asked for again.

import { uncoloured } from '@/parts/log/ansi';
import { type Fold, foldsIn } from '@/parts/log/folds';
import { told } from '@/parts/log/lines';
import type { Hidden } from '@/parts/log/rows';

export const CHUNK = 500;
export const KEPT_CHUNKS = 40;
/** Characters of a line that are kept; the rest is fetched by who wants to see it. */
export const KEPT_CHARACTERS = 4_000;
const FOLDS_LIMIT = 20_000;
const NEARBY = 300;
const TRACE = /Traceback \(most|\s(?:at|\.\.\.)\s\S/;

export interface LogLine {
  text: string;
  /** How many characters it has altogether. */
  length: number;
}

export interface LogPage {
  from_line: number;
  to_line: number;
  content: string;
}

type Chunk = (LogLine | undefined)[];

export class LogBook {
  private chunks = new Map<number, Chunk>();
  private folds = new Map<number, Fold>();
  private missing: Hidden[] = [];
  private listeners = new Set<() => void>();
  private scheduled = false;
  /** The number of the last line there is. */
  last = 0;
  /** Grows with every change. */
  version = 0;
  /** Grows when what can be hidden changed. */
  foldsVersion = 0;

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  line(number: number): LogLine | undefined {
    return this.chunks.get(chunkOf(number))?.[(number - 1) % CHUNK];
  }

  /** The last lines as far as they are here, at most so many. */
  tail(count: number): { from: number; texts: string[] } {
    const texts: string[] = [];
    for (let number = this.last; number > this.last - count; number--) {
      const line = this.line(number);
      if (!line) break;
      texts.unshift(line.text);
    }
    return { from: this.last - texts.length + 1, texts };
  }

  /** Take in lines that came for somebody who asked from `asked` on: what they skip is not to be had. */
  put(page: LogPage, asked = page.from_line): void {
    const texts = textsOf(page);
    if (texts.length === 0) return;
    if (page.from_line > asked) this.miss(asked, page.from_line - 1);
    for (const [index, text] of texts.entries()) {
      const number = page.from_line + index;
      this.chunk(number)[(number - 1) % CHUNK] = { text: text.slice(0, KEPT_CHARACTERS), length: text.length };
    }
    this.last = Math.max(this.last, page.to_line);
    this.findFolds(page.from_line, page.to_line);
    this.forget();
    this.changed();
  }

  /** Lines that are not to be had: of a long log the archive keeps the beginning and the end. */
  miss(first: number, last: number): void {
    if (this.missing.some((gap) => gap.first <= first && last <= gap.last)) return;
    this.missing = this.missing.filter((gap) => gap.first < first || gap.last > last);
    this.missing.push({ first, last });
    this.foldsVersion += 1;
    this.changed();
  }

  gapAt(line: number): Hidden | undefined {
    return this.missing.find((gap) => gap.first <= line && line <= gap.last);
  }

  foldAt(head: number): Fold | undefined {
    return this.folds.get(head);
  }

  /** What is not shown: the inside of folds that are closed, and of gaps all but their first line, which says so. A
   * line that somebody was led to is always shown.
   */
  hidden(opened: ReadonlySet<number>, pinned: number | null = null): Hidden[] {
    const holds = (fold: Fold) => pinned !== null && fold.first <= pinned && pinned <= fold.last;
    const closed = [...this.folds.values()].filter((fold) => !opened.has(fold.head) && !holds(fold));
    return [...closed, ...this.missing.map(({ first, last }) => ({ first: first + 1, last }))];
  }

  /** The first line of a span that is neither here nor known to be nowhere, and how many may be asked for with it. */
  wanted(first: number, last: number): { from: number; limit: number } | null {
    for (let number = Math.max(1, first); number <= Math.min(last, this.last); number++) {
      const gap = this.gapAt(number);
      if (gap) number = gap.last;
      else if (!this.line(number)) return { from: number, limit: (chunkOf(number) + 1) * CHUNK - number + 1 };
    }
    return null;
  }

  /** Somebody reads here: what is far from it goes first. */
  touch(first: number, last: number): void {
    for (let index = chunkOf(Math.max(1, first)); index <= chunkOf(Math.max(1, last)); index++) {
      const chunk = this.chunks.get(index);
      if (!chunk) continue;
      this.chunks.delete(index);
      this.chunks.set(index, chunk);
    }
  }

  get kept(): number {
    return this.chunks.size;
  }

  private chunk(number: number): Chunk {
    const index = chunkOf(number);
    const chunk = this.chunks.get(index) ?? new Array<LogLine | undefined>(CHUNK);
    this.chunks.delete(index);
    this.chunks.set(index, chunk);
    return chunk;
  }

  private forget(): void {
    for (const index of this.chunks.keys()) {
      if (this.chunks.size <= KEPT_CHUNKS) return;
      this.chunks.delete(index);
    }
  }

  private findFolds(first: number, last: number): void {
    if (this.folds.size >= FOLDS_LIMIT) return;
    const from = Math.max(1, first - NEARBY);
    if (!this.hasTrace(from, last)) return;
    const bodies = Array.from({ length: last + NEARBY - from + 1 }, (_, index) => this.body(from + index));
    for (const fold of foldsIn(from, bodies)) {
      const known = this.folds.get(fold.head);
      if (known && known.last >= fold.last) continue;
      this.folds.set(fold.head, fold);
      this.foldsVersion += 1;
    }
  }

  /** Most lines are none: this is cheaper than to look at them closely. */
  private hasTrace(first: number, last: number): boolean {
    for (let number = first; number <= last; number++) {
      if (TRACE.test(this.line(number)?.text ?? '')) return true;
    }
    return false;
  }

  private body(number: number): string | undefined {
    const line = this.line(number);
    return line && uncoloured(told(line.text).body);
  }

  /** A page that grows fast is drawn once a frame. */
  private changed(): void {
    this.version += 1;
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      for (const listener of this.listeners) listener();
    });
  }
}

function chunkOf(number: number): number {
  return Math.floor((number - 1) / CHUNK);
}

/** The lines of a page; their numbers count, so what is too much belongs to the last one. */
export function textsOf({ from_line, to_line, content }: LogPage): string[] {
  const count = to_line - from_line + 1;
  if (count <= 0) return [];
  const texts = content.split('\n');
  if (texts.length > count) texts.splice(count - 1, texts.length, texts.slice(count - 1).join('\n'));
  return texts;
}
