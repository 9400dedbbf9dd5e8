// Tracebacks are one record: their head and, of Python's, the line that names the exception stay, what is between folds.

export interface Fold {
  head: number;
  /** What is hidden, both included. */
  first: number;
  last: number;
}

const HEAD = /^[\s|+]*(?:Exception Group )?Traceback \(most recent call last\):$|Traceback \(most recent call last\):$/;
const JOINS = /^(?:During handling of the above exception|The above exception was the direct cause)/;
const AT = /^\s+(?:at\s\S|\.\.\. \d+ (?:more|common))/;
const CAUSED = /^\s*(?:Caused by|Suppressed): /;
const LONGEST = 2_000;

/** The folds among lines from `first` on; undefined are lines that are not known. */
export function foldsIn(first: number, bodies: readonly (string | undefined)[]): Fold[] {
  const folds: Fold[] = [];
  for (let index = 0; index < bodies.length; index++) {
    const found = pythonFrom(bodies, index) ?? javaFrom(bodies, index);
    if (!found) continue;
    const [from, to] = found;
    if (to - from >= 1) folds.push({ head: first + index, first: first + from, last: first + to });
    index = to;
  }
  return folds;
}

type Hidden = [from: number, to: number];

/** From the head over indented lines to the exception, and on where another traceback follows from it. */
function pythonFrom(bodies: readonly (string | undefined)[], head: number): Hidden | null {
  if (!HEAD.test(bodies[head] ?? '')) return null;
  let end: number | null = null;
  let at = head;
  while (at < bodies.length && at - head < LONGEST) {
    const exception = afterFrames(bodies, at + 1);
    if (exception === null) return end === null ? null : [head + 1, end - 1];
    end = exception;
    const next = nextHead(bodies, exception + 1);
    if (next === null) break;
    at = next;
  }
  return end === null ? null : [head + 1, end - 1];
}

function afterFrames(bodies: readonly (string | undefined)[], from: number): number | null {
  for (let index = from; index < bodies.length && index - from < LONGEST; index++) {
    const body = bodies[index];
    if (body === undefined) return null;
    if (!/^[\s|+]/.test(body)) return body === '' ? null : index;
  }
  return null;
}

function nextHead(bodies: readonly (string | undefined)[], from: number): number | null {
  if (bodies[from] !== '' || !JOINS.test(bodies[from + 1] ?? '') || bodies[from + 2] !== '') return null;
  return HEAD.test(bodies[from + 3] ?? '') ? from + 3 : null;
}

function javaFrom(bodies: readonly (string | undefined)[], head: number): Hidden | null {
  if (bodies[head] === undefined || AT.test(bodies[head]) || !AT.test(bodies[head + 1] ?? '')) return null;
  let last = head + 1;
  for (let index = head + 1; index < bodies.length && index - head < LONGEST; index++) {
    const body = bodies[index] ?? '';
    if (AT.test(body)) last = index;
    else if (!CAUSED.test(body)) break;
  }
  return [head + 1, last];
}
