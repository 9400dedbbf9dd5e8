// Which line is in which row: of the lines of a window, all that are not hidden.

export interface Hidden {
  first: number;
  last: number;
}

export interface Window {
  first: number;
  last: number;
}

/**
 * Browsers paint at places that are numbers of 24 bits: beyond so many pixels lines would stand unevenly and letters be
 * cut. Of a log that is longer a window is shown.
 */
export const PAINTED_EVENLY = 2 ** 24;
export const LINE_HEIGHT = 16;
export const WINDOW_LINES = 1_040_000;
export const WRAPPED_WINDOW_LINES = 100_000;

/** The window around a line, the whole log if that fits. */
export function windowAround(line: number, last: number, size: number): Window {
  if (last <= size) return { first: 1, last };
  const first = Math.max(1, Math.min(line - Math.floor(size / 2), last - size + 1));
  return { first, last: first + size - 1 };
}

/** The same window after the log grew: with room for what comes, unless it is full. */
export function grown(window: Window, last: number, size: number): Window {
  return { first: window.first, last: Math.min(last, window.first + size - 1) };
}

export class Rows {
  readonly count: number;
  private readonly hidden: Hidden[];
  /** How many lines are hidden before each range. */
  private readonly before: number[] = [];

  constructor(
    readonly window: Window,
    hidden: readonly Hidden[],
  ) {
    this.hidden = disjoint(hidden, window);
    let sum = 0;
    for (const range of this.hidden) {
      this.before.push(sum);
      sum += range.last - range.first + 1;
    }
    this.count = Math.max(0, window.last - window.first + 1 - sum);
  }

  lineAt(row: number): number {
    const line = this.window.first + row;
    let [low, high] = [0, this.hidden.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      const range = this.hidden[middle] as Hidden;
      if (range.first - (this.before[middle] ?? 0) <= line) low = middle + 1;
      else high = middle;
    }
    return low === 0 ? line : line + this.hiddenUpTo(low - 1);
  }

  /** The row of a line; of a hidden one that of what stands for it. */
  rowOf(line: number): number {
    const wanted = Math.max(this.window.first, Math.min(line, this.window.last));
    let [low, high] = [0, this.hidden.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.hidden[middle] as Hidden).first <= wanted) low = middle + 1;
      else high = middle;
    }
    const range = this.hidden[low - 1];
    if (!range) return wanted - this.window.first;
    const shown = wanted <= range.last ? range.first - 1 : wanted;
    const less = wanted <= range.last ? (this.before[low - 1] ?? 0) : this.hiddenUpTo(low - 1);
    return Math.max(0, shown - this.window.first - less);
  }

  private hiddenUpTo(index: number): number {
    const range = this.hidden[index] as Hidden;
    return (this.before[index] ?? 0) + range.last - range.first + 1;
  }
}

function disjoint(hidden: readonly Hidden[], window: Window): Hidden[] {
  const ranges: Hidden[] = [];
  for (const { first, last } of [...hidden].sort((one, other) => one.first - other.first)) {
    const from = Math.max(first, window.first, (ranges.at(-1)?.last ?? 0) + 1);
    const to = Math.min(last, window.last);
    if (from <= to) ranges.push({ first: from, last: to });
  }
  return ranges;
}
