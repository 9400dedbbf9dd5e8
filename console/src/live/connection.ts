// The one live connection of a tab. It hears which subjects changed, comes back by itself when it is cut, and rests
// while the tab is hidden or the person has paused it. Nothing in here knows React.

export type LiveState =
  /** `again`: the line was cut, or could not be had, and what one sees is no newer for the attempt. */
  | { kind: 'connecting'; again?: true }
  | { kind: 'live' }
  | { kind: 'waiting'; retryAt: number }
  | { kind: 'paused' }
  | { kind: 'hidden' };

export interface Surroundings {
  /** Opens the line; `since` is the mark below, until a line was open. */
  open: (since: string | null) => WebSocket;
  /** What the server is to tell changes since on the first line; without it nobody knows what was missed. */
  since?: string | null;
  now: () => number;
  /** The share of a pause that chance adds, so that a thousand tabs do not come back at once. */
  chance: () => number;
  /** Subjects to look at again; null: everything, for nobody knows what was missed. */
  changed: (subjects: readonly string[] | null) => void;
  /** The session is over: there is no use in coming back. */
  refused: () => void;
  /** Everything else that is said on this line. */
  said?: (message: unknown) => void;
  /** A line without beats: its silence means nothing. */
  beatless?: true;
}

/** Whether the line is away, also while it is tried again. */
export function isCut(state: LiveState): boolean {
  return state.kind === 'waiting' || (state.kind === 'connecting' && !!state.again);
}

export const SILENT_AFTER = 25_000;
/** A peer that is dead does not refuse: nothing happens at all. */
export const OPEN_WITHIN = 10_000;
/** What browsers say of a line that ended without a word. */
const ABNORMAL = 1006;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;
const UNAUTHENTICATED = 4401;

/** How long to wait before the attempt after `failures` that went wrong. */
export function pauseAfter(failures: number, chance: number): number {
  return Math.min(FIRST_PAUSE * 2 ** Math.max(0, failures - 1), LONGEST_PAUSE) * (1 + chance / 4);
}

export class LiveConnection {
  private socket: WebSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private failures = 0;
  private wasOpen = false;
  private listeners = new Set<() => void>();
  private wanted = { running: false, paused: false, hidden: false };
  state: LiveState = { kind: 'connecting' };
  /** When the server was last heard, or all was asked of it. */
  heardAt: number;
  /** Up to when everything was told, when it was paused. */
  pausedAt: number;

  constructor(private readonly around: Surroundings) {
    this.heardAt = this.pausedAt = around.now();
  }

  subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  start(): void {
    this.want({ running: true });
  }

  stop(): void {
    this.want({ running: false });
  }

  pause(paused: boolean): void {
    this.want({ paused });
  }

  hide(hidden: boolean): void {
    this.want({ hidden });
  }

  /** Without a line everything was asked for, and answered: what one sees is from then. */
  looked(at: number): void {
    if (!isCut(this.state)) return;
    this.heardAt = Math.max(this.heardAt, at);
    this.announce();
  }

  retryNow(): void {
    if (this.state.kind === 'waiting') this.connect();
  }

  private want(change: Partial<typeof this.wanted>): void {
    if (change.paused && !this.wanted.paused) {
      this.pausedAt = this.state.kind === 'live' ? this.around.now() : this.heardAt;
    }
    this.wanted = { ...this.wanted, ...change };
    const { running, paused, hidden } = this.wanted;
    if (running && !paused && !hidden) {
      if (!this.socket && this.state.kind !== 'waiting') this.connect();
      return;
    }
    this.drop();
    this.become(paused ? { kind: 'paused' } : hidden ? { kind: 'hidden' } : { kind: 'connecting' });
  }

  private connect(): void {
    clearTimeout(this.timer);
    this.become(this.failures > 0 ? { kind: 'connecting', again: true } : { kind: 'connecting' });
    const socket = this.around.open(this.wasOpen ? null : (this.around.since ?? null));
    this.socket = socket;
    socket.onopen = () => this.opened();
    socket.onmessage = (event) => this.heard(String(event.data));
    socket.onclose = (event) => this.closed(event.code);
    this.timer = setTimeout(() => this.closed(ABNORMAL), OPEN_WITHIN);
  }

  private opened(): void {
    this.failures = 0;
    this.noteLife();
    this.become({ kind: 'live' });
    // Who opens the first line with a mark is told what changed since; no other line knows what it missed.
    if (this.wasOpen || !this.around.since) this.around.changed(null);
    this.wasOpen = true;
  }

  private heard(text: string): void {
    this.noteLife();
    const message = JSON.parse(text) as { type: string; subjects?: string[] };
    if (message.type === 'changed' && message.subjects) this.around.changed(message.subjects);
    else this.around.said?.(message);
    this.announce();
  }

  /** A line that has gone dead says nothing: the server beats every ten seconds, so silence means it is cut. It is left
   * at once: a browser calls it closed only when the other side agrees, which a dead one never does. */
  private noteLife(): void {
    this.heardAt = this.around.now();
    clearTimeout(this.timer);
    if (!this.around.beatless) this.timer = setTimeout(() => this.closed(ABNORMAL), SILENT_AFTER);
  }

  private closed(code: number): void {
    this.drop();
    if (code === UNAUTHENTICATED) {
      this.around.refused();
      return;
    }
    this.failures += 1;
    const pause = pauseAfter(this.failures, this.around.chance());
    this.timer = setTimeout(() => this.connect(), pause);
    this.become({ kind: 'waiting', retryAt: this.around.now() + pause });
  }

  private drop(): void {
    clearTimeout(this.timer);
    if (!this.socket) return;
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = null;
    this.socket.close();
    this.socket = null;
  }

  private become(state: LiveState): void {
    this.state = state;
    this.announce();
  }

  private announce(): void {
    for (const listener of this.listeners) listener();
  }
}
