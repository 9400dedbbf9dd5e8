// Cron expressions in words, in the language of the page. The words of a language are loaded when they are needed.

import { useEffect, useState } from 'react';
import { usePreference } from '@/app/preferences';
import type { Language } from '@/i18n/languages';

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
  const expression = withoutName(written);
  const fields = expression.trim().split(/\s+/).length;
  if (fields < 5) return null;
  try {
    const told = evenly(expression);
    if (told === null) return null;
    return cronstrue.toString(told, {
      locale: LOCALES[language],
      use24HourTimeFormat: true,
      dayOfWeekStartIndexZero: fields === 5, // in the Quartz dialect Sunday is 1
    });
  } catch {
    return null;
  }
}

interface Field {
  low: number;
  high: number;
  /** There are always as many, and each is told by its number: not so of the days of a month or a week. */
  even: boolean;
  /** Names of the values, from the lowest on. */
  names?: readonly string[];
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'];
const WEEKDAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];
const MINUTES: Field = { low: 0, high: 59, even: true };
/** From the seconds, of which an expression of five fields has none, to the months. */
const FIELDS: readonly Field[] = [
  MINUTES,
  MINUTES,
  { low: 0, high: 23, even: true },
  { low: 1, high: 31, even: false },
  { low: 1, high: 12, even: true, names: MONTHS },
];
const WEEKDAY = { even: false, names: WEEKDAYS };

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
  if (from === null || to === null || step < 1 || to < from) return null;
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
