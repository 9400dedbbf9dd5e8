// What a line of a log says about itself: when it was written and how bad it is.

export const LEVELS = ['error', 'warning', 'info', 'debug', 'other'] as const;
export type Level = (typeof LEVELS)[number];

const WORDS: Record<Exclude<Level, 'other'>, string> = {
  error: 'ERROR|CRITICAL|FATAL|SEVERE',
  warning: 'WARNING|WARN',
  info: 'INFO|NOTICE',
  debug: 'DEBUG|TRACE|FINE',
};

/** A level is a word of its own. */
function among(words: string): string {
  return `(?<![\\w-])(?:${words})(?![\\w-])`;
}

/** The same, but what stands before it is looked at after it: so the server skips to where the word could be, which is
 * three to ten times as fast. */
function fastAmong(words: string): string {
  const each = words.split('|').map((word) => `${word}(?<![\\w-]${word})`);
  return `(?:${each.join('|')})(?![\\w-])`;
}

const ALL = among(Object.values(WORDS).join('|'));
/** Near the beginning: what comes later is about something else. */
const ANY = new RegExp(`^.{0,80}?(${ALL})`);
const BY_WORD = new Map(
  Object.entries(WORDS).flatMap(([level, words]) => words.split('|').map((word) => [word, level as Level] as const)),
);

export function levelOf(text: string): Level {
  const word = ANY.exec(text)?.[1];
  return (word && BY_WORD.get(word)) || 'other';
}

/** What finds the lines of these levels on the server, fast; what it finds too much, `levelOf` tells. */
export function levelExpression(levels: readonly Level[]): string {
  const words = levels.flatMap((level) => (level === 'other' ? [] : [WORDS[level]])).join('|');
  if (!levels.includes('other')) return fastAmong(words);
  const none = `^(?!.{0,80}?${ALL})`;
  return words ? `${fastAmong(words)}|${none}` : none;
}

const TRACEBACK = 'Traceback (most recent call last)';

/** The same for lines that tell of an error. */
export const ERROR_EXPRESSION = `${fastAmong(WORDS.error)}|Traceback \\(most recent call last\\)`;

export function tellsOfError(text: string): boolean {
  return levelOf(text) === 'error' || text.includes(TRACEBACK);
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
