// The live end of a log: a WebSocket to the console's own origin, and where that cannot be had, a look every three
// seconds. Nothing in here knows React.

import type { LogPage } from '@/parts/log/LogBook';

export type StreamState =
  | { kind: 'resting' }
  | { kind: 'connecting' }
  | { kind: 'live' }
  | { kind: 'polling' }
  | { kind: 'over'; note: string };

export interface StreamSurroundings {
  open: (from: number) => WebSocket;
  page: (from: number) => Promise<LogPage & { end: boolean }>;
  /** The number of the next line. */
  next: () => number;
  lines: (page: LogPage) => void;
  /** The log cannot be read just now; null when it can again. */
  trouble: (message: string | null) => void;
  refused: () => void;
}

interface Message {
  type: 'lines' | 'trouble' | 'end' | 'closed' | 'beat';
  from_line: number;
  to_line: number;
  content: string;
  message: string;
  note: string;
}

export const POLL_EVERY = 3_000;
/** Polls after which the socket is tried again. */
export const TRY_SOCKET_AFTER = 10;
/** The server beats every fifteen seconds. */
export const SILENT_AFTER = 40_000;
/** A peer that is dead does not refuse: nothing happens at all. */
export const OPEN_WITHIN = 10_000;
/** What browsers say of a line that ended without a word. */
const ABNORMAL = 1006;
const UNAUTHENTICATED = 4401;

export class LogStream {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private listeners = new Set<() => void>();
  private polls = 0;
  private running = false;
  state: StreamState = { kind: 'resting' };

  constructor(private readonly around: StreamSurroundings) {}

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  start(): void {
    if (this.running || this.state.kind === 'over') return;
    this.running = true;
    this.connect();
  }

  stop(): void {
    this.running = false;
    this.drop();
    if (this.state.kind !== 'over') this.become({ kind: 'resting' });
  }

  private connect(): void {
    this.polls = 0;
    this.become({ kind: 'connecting' });
    const socket = this.around.open(this.around.next());
    this.socket = socket;
    socket.onopen = () => {
      this.become({ kind: 'live' });
      this.noteLife();
    };
    socket.onmessage = (event) => this.heard(JSON.parse(String(event.data)) as Message);
    socket.onclose = (event) => this.closed(event.code);
    this.timer = setTimeout(() => this.closed(ABNORMAL), OPEN_WITHIN);
  }

  private heard(message: Message): void {
    this.noteLife();
    if (message.type === 'trouble') this.around.trouble(message.message);
    if (message.type === 'lines') {
      this.around.trouble(null);
      this.around.lines(message);
    }
    if (message.type === 'end') this.finish(message.note);
  }

  /** Nothing follows; `note` says why there are no lines, where there is a reason. */
  finish(note: string): void {
    this.running = false;
    this.around.trouble(null);
    this.drop();
    this.become({ kind: 'over', note });
  }

  private closed(code: number): void {
    this.drop();
    if (code === UNAUTHENTICATED) this.around.refused();
    else if (this.running) {
      this.become({ kind: 'polling' });
      void this.poll();
    }
  }

  private async poll(): Promise<void> {
    this.polls += 1;
    try {
      const page = await this.around.page(this.around.next());
      if (!this.running) return;
      this.around.trouble(null);
      if (page.to_line >= page.from_line) this.around.lines(page);
      if (page.end) return this.finish(page.to_line < page.from_line ? page.content : '');
    } catch (error) {
      if (!this.running) return;
      this.around.trouble(error instanceof Error ? error.message : String(error));
    }
    const again = this.polls >= TRY_SOCKET_AFTER ? () => this.connect() : () => void this.poll();
    this.timer = setTimeout(again, POLL_EVERY);
  }

  /** A line that is silent is left at once: a browser calls it closed only when the other side agrees. */
  private noteLife(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.closed(ABNORMAL), SILENT_AFTER);
  }

  private drop(): void {
    clearTimeout(this.timer);
    if (!this.socket) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
  }

  private become(state: StreamState): void {
    this.state = state;
    for (const listener of this.listeners) listener();
  }
}
