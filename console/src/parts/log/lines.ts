// What a line of a log says about itself: when it was written and how bad it is.

import { uncoloured } from '@/parts/log/ansi';

export const LEVELS = ['error', 'warning', 'info', 'debug', 'other'] as const;
export type Level = (typeof LEVELS)[number];

const WORDS: Record<Exclude<Level, 'other'>, string> = {
  error: 'ERROR|CRITICAL|FATAL|SEVERE',
  warning: 'WARNING|WARN',
  info: 'INFO|NOTICE',
  debug: 'DEBUG|TRACE|FINE',
};

/** A word of its own, near the beginning: what comes later is about something else. */
const NAMED = new RegExp(`^.{0,80}?(?<![\\w-])(${Object.values(WORDS).join('|')})(?![\\w-])`);
const BY_WORD = new Map(
  Object.entries(WORDS).flatMap(([level, words]) => words.split('|').map((word) => [word, level as Level] as const)),
);

/** The level of a line by its words. The server, which finds the lines of a level, knows besides which are part of a
 * traceback (`levels.py`). */
export function levelOf(text: string): Level {
  const word = NAMED.exec(uncoloured(text))?.[1];
  return (word && BY_WORD.get(word)) || 'other';
}

export interface Told {
  /** When it was written, in ms; null where a line does not say. */
  at: number | null;
  body: string;
}

const STAMP = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?(?: |$)/;

/** A line taken apart. One without a zone is left as it is: nobody knows which clock it was written by. */
export function told(text: string): Told {
  const found = STAMP.exec(text);
  if (!found?.[4]) return { at: null, body: text };
  const [whole, day, time, fraction = '0', zone] = found;
  const at = Date.parse(`${day}T${time}.${fraction.slice(0, 3).padEnd(3, '0')}${zone}`);
  return Number.isNaN(at) ? { at: null, body: text } : { at, body: text.slice(whole.length) };
}
