// Why the calendar of a job skips a fire. The ledger keeps it in English words, of which there are two forms.

import type { Language } from '@/i18n/languages';

const DAY = /^the calendar leaves out (\d{4}-\d\d-\d\d)$/;
const WEEKDAY = /^the calendar leaves out \w+s, and (\d{4}-\d\d-\d\d) is one$/;

export interface LeftOut {
  by: 'day' | 'weekday';
  day: string;
  weekday: string;
}

/** What the words say, for a language; null where they say something else. */
export function leftOut(reason: string, language: Language): LeftOut | null {
  const day = DAY.exec(reason)?.[1];
  const found = day ?? WEEKDAY.exec(reason)?.[1];
  if (found === undefined) return null;
  const said = (shape: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language, { timeZone: 'UTC', ...shape }).format(Date.parse(found));
  return { by: day ? 'day' : 'weekday', day: said({ dateStyle: 'medium' }), weekday: said({ weekday: 'long' }) };
}
