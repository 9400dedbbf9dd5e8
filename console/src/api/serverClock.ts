// What time it is for the server. The clock of a browser may be minutes off, and everything that is shown as an age, a
// countdown or a duration is about instants that the server wrote.

export interface Heard {
  /** What the server says in the head of an answer: whole seconds, and written down a moment before. */
  date: number;
  /** When it was asked, and when the answer began, by the clock of the browser. */
  sent: number;
  received: number;
}

/** How old that is at most, in ms: what is cut off a second, and a server that is busy. */
const OLDEST = 1_500;

/** So many of the last answers are weighed: a clock that is set right must not be mistrusted for ever. */
const WEIGHED = 16;

interface Bounds {
  low: number;
  high: number;
}

/**
 * By how much the clock of the server is ahead, in ms. Each answer gives bounds, for it was written between question and
 * arrival, and those of several together are narrow. Where nothing speaks against the browser's clock, it is right.
 */
export function aheadBy(answers: readonly Heard[]): number {
  let known: Bounds = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY };
  for (const { date, sent, received } of answers.toReversed()) {
    const low = Math.max(known.low, date - received);
    const high = Math.min(known.high, date + OLDEST - sent);
    if (low > high) break; // one of the clocks was set between this answer and the later ones
    known = { low, high };
  }
  if (known.low <= 0 && known.high >= 0) return 0;
  return (known.low + known.high) / 2;
}

/** An answer that took longer, in ms, says nothing of the time: a process that stood still writes what it read before. */
const SLOW = 5_000;

let answers: Heard[] = [];
let ahead = 0;
let last = 0;

export function heardTime(heard: Heard): void {
  last = heard.received;
  if (heard.received - heard.sent > SLOW) return;
  answers = [...answers, heard].slice(-WEIGHED);
  ahead = aheadBy(answers);
}

/** When the server last answered anything, by its own clock; 0 if it never has. */
export function answeredAt(): number {
  return last && last + ahead;
}

/** The time of the server in ms, as far as its answers tell. */
export function serverNow(): number {
  return Date.now() + ahead;
}
