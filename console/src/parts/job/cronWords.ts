// Cron expressions in words, in the language of the page. The words of a language are loaded when they are needed.

import { useEffect, useState } from 'react';
import { usePreference } from '@/app/preferences';
import type { Language } from '@/i18n/languages';
import { inUsualWords } from '@/parts/job/cronPhrases';

type Cronstrue = typeof import('cronstrue').default;
export type CronWords = (expression: string) => string | null;

const LOCALES: Record<Language, string> = { en: 'en', 'zh-CN': 'zh_CN', fr: 'fr' };
const EXTRA: Record<Language, () => Promise<unknown>> = {
  en: async () => {},
  'zh-CN': () => import('cronstrue/locales/zh_CN'),
  fr: () => import('cronstrue/locales/fr'),
};

/** What the server takes by a name. */
const NAMED: Record<string, string> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/** The fields that a name stands for; any other text as it is. */
export function withoutName(text: string): string {
  return NAMED[text.trim().toLowerCase()] ?? text;
}

/** The expression in words, or null where there are none for it. The server alone says whether it is good. */
export function cronWords(cronstrue: Cronstrue, language: Language, written: string): string | null {
  const parts = withoutName(written).trim().split(/\s+/);
  const days = daysOf(parts);
  if (days === null) return null;
  const say = (fields: readonly string[]) =>
    inUsualWords(
      cronstrue.toString(fields.join(' '), {
        locale: LOCALES[language],
        use24HourTimeFormat: true,
        dayOfWeekStartIndexZero: parts.length === 5, // in the Quartz dialect Sunday is 1
      }),
      language,
    );
  try {
    const told = evenly(parts.map((part) => (part === '*/1' ? '*' : part)).join(' '))?.split(' ');
    if (!told?.every(isTellable)) return null;
    return days === 'one' ? say(told) : sayBothDays(say, told, JOINED[language], days);
  } catch {
    return null;
  }
}

const isTellable = (part: string) => !part.includes('*') || /^\*(\/\d+)?$/.test(part);

/** What the fields of the days mean together: one of them says it all, or a day fits either, or both. Null: refused. */
function daysOf(parts: readonly string[]): 'one' | 'either' | 'both' | null {
  if (parts.length < 5 || parts.length > 7) return null;
  const [day = '', weekday = ''] = parts.length === 5 ? [parts[2], parts[4]] : [parts[3], parts[5]];
  const open = [day, weekday].filter((one) => one === '?').length;
  if (parts.length > 5) return open === 1 ? 'one' : null;
  if (open > 0) return null;
  if ([day, weekday].some((one) => one === '*' || one === '*/1')) return 'one';
  return day.startsWith('*') || weekday.startsWith('*') ? 'both' : 'either';
}

/** How the days of the month and of the week are put together; `drop`: what the words of the latter begin with alone. */
const JOINED: Record<Language, { drop: RegExp; either: string; both: string }> = {
  en: { drop: /^, (only )?/, either: ', or ', both: ', and only ' },
  'zh-CN': { drop: /^, [仅限]?/, either: ', 或者', both: ', 且仅限' },
  fr: { drop: /^, (uniquement )?/, either: ', ou ', both: ', et uniquement ' },
};

/** The library says "and" for either. So each is said by itself, without what is said of the time of day. */
function sayBothDays(
  say: (fields: readonly string[]) => string,
  [minute = '', hour = '', day = '', month = '', weekday = '']: readonly string[],
  joined: (typeof JOINED)[Language],
  how: 'either' | 'both',
): string | null {
  const time = say([minute, hour, '*', '*', '*']);
  const [days, months, weekdays] = [
    [minute, hour, day, '*', '*'],
    [minute, hour, '*', month, '*'],
    [minute, hour, '*', '*', weekday],
  ].map((fields) => {
    const words = say(fields);
    return words.startsWith(time) ? words.slice(time.length) : null;
  });
  if (!days || !weekdays || months == null) return null;
  return `${time}${days}${joined[how]}${weekdays.replace(joined.drop, '')}${months}`;
}

interface Field {
  low: number;
  high: number;
  /** The longest step. */
  step: number;
  /** There are always as many, and each is told by its number: not so of the days of a month or a week. */
  even: boolean;
  /** Names of the values, from the lowest on. */
  names?: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const MINUTES: Field = { low: 0, high: 59, step: 59, even: true };
/** From the seconds, of which an expression of five fields has none, to the months. */
const FIELDS: readonly Field[] = [
  MINUTES,
  MINUTES,
  { low: 0, high: 23, step: 23, even: true },
  { low: 1, high: 31, step: 31, even: false },
  { low: 1, high: 12, step: 12, even: true, names: MONTHS },
];
const WEEKDAY = { step: 7, even: false, names: WEEKDAYS };

/**
 * The same fires, written so that "every n" is only said where it is true: `*` + `/45` in the minutes begins again with
 * every hour, so it becomes `0,45`. Null where that cannot be written.
 */
export function evenly(expression: string): string | null {
  const parts = expression.trim().split(/\s+/);
  const first = parts.length === 5 ? 1 : 0;
  const weekday: Field = first === 1 ? { low: 0, high: 6, ...WEEKDAY } : { low: 1, high: 7, ...WEEKDAY };
  const told = parts.map((part, index) => withoutFalseSteps(part, [...FIELDS, weekday][index + first]));
  return told.includes(null) ? null : told.join(' ');
}

interface Steps {
  from: number;
  to: number;
  step: number;
}

function withoutFalseSteps(part: string, field: Field | undefined): string | null {
  if (!field || !part.includes('/')) return part;
  const items = part.split(',').map((item) => stepsOf(item, field));
  if (items.includes(null)) return null;
  const steps = items as Steps[];
  const only = steps.length === 1 ? steps[0] : undefined;
  if (only && !field.names?.includes('SUN') && isEvery(only, field)) return part;
  if (only && tellsItsEnds(only, field)) return `${only.from}-${only.to}/${only.step}`;
  return [...new Set(steps.flatMap(valuesOf))].sort((one, other) => one - other).join(',');
}

/** One item of a list: everything, a value or a span, with or without a step; null for anything else. */
function stepsOf(item: string, field: Field): Steps | null {
  const [, all, low, high, every] = /^(?:(\*)|(\w+)(?:-(\w+))?)(?:\/(\d{1,2}))?$/.exec(item) ?? [];
  const from = all ? field.low : numberOf(low, field);
  const to = high === undefined ? (all || every ? field.high : from) : numberOf(high, field);
  const step = every === undefined ? 1 : Number(every);
  if (from === null || to === null || step < 1 || step > field.step || to < from) return null;
  return { from, to, step };
}

function numberOf(text: string | undefined, { low, high, names }: Field): number | null {
  const named = names?.indexOf((text ?? '').toUpperCase()) ?? -1;
  const value = named >= 0 ? low + named : /^\d{1,2}$/.test(text ?? '') ? Number(text) : Number.NaN;
  return value >= low && value <= high ? value : null;
}

const valuesOf = ({ from, to, step }: Steps) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => from + index * step);

/** Whether it comes every so often across the ends of the field as well. */
function isEvery({ from, to, step }: Steps, { low, high, even }: Field): boolean {
  return even && to === high && (high - low + 1) % step === 0 && from - low < step;
}

/** Whether it is true as "every n from one to the other". */
function tellsItsEnds(one: Steps, { low, high, even, names }: Field): boolean {
  if (names?.includes('SUN') || valuesOf(one).length < 3) return false;
  if (!even) return true;
  const whole = one.from - low < one.step && one.to === high;
  return !whole && (one.to < high || (high - low + 1) % one.step === 0);
}

export async function loadCronWords(language: Language): Promise<CronWords> {
  const cronstrue = (await import('cronstrue')).default;
  await EXTRA[language]();
  return (expression) => cronWords(cronstrue, language, expression);
}

/** Nothing has words until they are loaded. */
export function useCronWords(): CronWords {
  const [language] = usePreference('language');
  const [words, setWords] = useState<{ say: CronWords }>({ say: () => null });
  useEffect(() => {
    let current = true;
    void loadCronWords(language).then((say) => current && setWords({ say }));
    return () => {
      current = false;
    };
  }, [language]);
  return words.say;
}
