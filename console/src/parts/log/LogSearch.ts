// A search over the whole log, on the server, which answers in parts: they are asked for one after the other until the
// end, or until there are more than anybody goes through.

import type { Level } from '@/parts/log/lines';

/** From where to where something is, in characters of what is shown of a line. */
export interface Place {
  start: number;
  end: number;
}

export interface Match extends Place {
  line: number;
  text: string;
  /** Where in the line `text` begins. */
  offset: number;
}

export interface SearchPart {
  to_line: number;
  matches: Match[];
  end: boolean;
  /** Whether a copy was searched that lacks lines. */
  lacking: boolean;
}

export interface Query {
  /** Empty where every line of the levels is wanted. */
  text: string;
  regex: boolean;
  ignoreCase: boolean;
  /** Only lines of these. */
  levels?: readonly Level[];
}

/** `patience`: seconds after which a part ends, whatever was found. */
export type AskPart = (
  query: Query,
  from: number,
  limit: number,
  signal: AbortSignal,
  patience?: number,
) => Promise<SearchPart>;

export interface SearchState {
  query: Query | null;
  matches: Match[];
  /** How far it has looked. */
  toLine: number;
  busy: boolean;
  /** Whether it has once looked at all there was: from then on it only keeps up with what is written. */
  caughtUp: boolean;
  /** Whether all there is was looked at. */
  end: boolean;
  /** Whether lines are missing in what was looked at. */
  lacking: boolean;
  error: unknown;
}

const IDLE: SearchState = {
  query: null,
  matches: [],
  toLine: 0,
  busy: false,
  caughtUp: false,
  end: false,
  lacking: false,
  error: null,
};
const PART = 1_000;
/** In seconds: a first answer soon, then fewer and longer parts, for each costs the server as much to begin. */
const PATIENCE = 0.5;
const PATIENCE_AT_MOST = 10;

export class LogSearch {
  private listeners = new Set<() => void>();
  private stopping: AbortController | null = null;
  state: SearchState = IDLE;

  /** `limit`: matches after which it waits to be asked for more. */
  constructor(
    private readonly ask: AskPart,
    private readonly limit: number,
  ) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  start(query: Query | null): void {
    this.stopping?.abort();
    this.become({ ...IDLE, query });
    if (query) void this.run(this.limit);
  }

  /** Look further: for more, or at lines that were written meanwhile. */
  more(): void {
    if (this.state.query && !this.state.busy) void this.run(this.state.matches.length + this.limit);
  }

  stop(): void {
    this.stopping?.abort();
  }

  private async run(enough: number): Promise<void> {
    const { query } = this.state;
    if (!query) return;
    const stopping = new AbortController();
    this.stopping = stopping;
    this.become({ ...this.state, busy: true, error: null });
    try {
      for (let patience = PATIENCE; this.state.matches.length < enough; patience *= 2) {
        const before = this.state.toLine;
        const seconds = Math.min(patience, PATIENCE_AT_MOST);
        const part = await this.ask(query, before + 1, PART, stopping.signal, seconds);
        if (stopping.signal.aborted) return;
        const matches = [...this.state.matches, ...part.matches];
        const lacking = this.state.lacking || part.lacking;
        const caughtUp = this.state.caughtUp || part.end || part.to_line <= before;
        this.become({ ...this.state, matches, toLine: part.to_line, end: part.end, lacking, caughtUp });
        if (part.end || part.to_line <= before) break;
      }
      this.become({ ...this.state, busy: false });
    } catch (error) {
      if (!stopping.signal.aborted) this.become({ ...this.state, busy: false, error });
    }
  }

  private become(state: SearchState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}

/** The match to go to from a line: the next one in that direction, and around the end. -1 when there is none. */
export function matchFrom(matches: readonly Match[], line: number, direction: 1 | -1): number {
  if (matches.length === 0) return -1;
  if (direction === 1) {
    const next = matches.findIndex((match) => match.line > line);
    return next === -1 ? 0 : next;
  }
  const before = matches.findLastIndex((match) => match.line < line);
  return before === -1 ? matches.length - 1 : before;
}
