// A cron expression as choices one can click, as far as it is one of the common ones. The text stays the truth: what is
// written here is written into it, and what is in it is read from it.

import { withoutName } from '@/parts/job/cronWords';

export type Weekday = 1 | 2 | 3 | 4 | 5 | 6 | 7;

export type Plan =
  | { every: 'minutes'; step: number }
  | { every: 'hour'; minute: number }
  | { every: 'day'; hour: number; minute: number }
  | { every: 'week'; days: Weekday[]; hour: number; minute: number }
  | { every: 'month'; day: number | 'L'; hour: number; minute: number };

export type Every = Plan['every'];

export const EVERY: readonly Every[] = ['minutes', 'hour', 'day', 'week', 'month'];
export const STEPS = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30] as const;
export const WEEKDAYS: readonly Weekday[] = [1, 2, 3, 4, 5, 6, 7];
/** From Monday, as people count; cron counts from Sunday. */
const NAMES = ['MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT', 'SUN'] as const;

/** A plan in the Quartz dialect, whose first field are the seconds. */
export function write(plan: Plan): string {
  switch (plan.every) {
    case 'minutes':
      return plan.step === 1 ? '0 * * * * ?' : `0 */${plan.step} * * * ?`;
    case 'hour':
      return `0 ${plan.minute} * * * ?`;
    case 'day':
      return `0 ${plan.minute} ${plan.hour} * * ?`;
    case 'week':
      return `0 ${plan.minute} ${plan.hour} ? * ${[...plan.days]
        .sort()
        .map((day) => NAMES[day - 1])
        .join(',')}`;
    case 'month':
      return `0 ${plan.minute} ${plan.hour} ${plan.day} * ?`;
  }
}

/** The plan an expression is, or null when it is none of them. */
export function read(text: string): Plan | null {
  const parts = withoutName(text).trim().toUpperCase().split(/\s+/);
  const unix = parts.length === 5;
  const fields = unix ? ['0', ...parts] : parts;
  if (fields.length !== 6 || fields[0] !== '0' || fields[4] !== '*') return null;
  const [, minutes = '', hours = '', days = '', , weekdays = ''] = fields;
  const [anyDay, anyWeekday] = [isAny(days), isAny(weekdays)];
  if (hours === '*') return anyDay && anyWeekday ? readWithinHour(minutes) : null;
  const [minute, hour] = [numberIn(minutes, 0, 59), numberIn(hours, 0, 23)];
  if (minute === null || hour === null) return null;
  if (anyDay && anyWeekday) return { every: 'day', hour, minute };
  if (anyDay) {
    const chosen = readWeekdays(weekdays, unix);
    return chosen && { every: 'week', days: chosen, hour, minute };
  }
  const day = days === 'L' && !unix ? 'L' : numberIn(days, 1, 31);
  return anyWeekday && day !== null ? { every: 'month', day, hour, minute } : null;
}

/** What somebody gets who chooses another kind: as much as possible of what was there. */
export function changedTo(every: Every, before: Plan | null): Plan {
  const minute = before && 'minute' in before ? before.minute : 0;
  const hour = before && 'hour' in before ? before.hour : 2;
  switch (every) {
    case 'minutes':
      return { every, step: 5 };
    case 'hour':
      return { every, minute };
    case 'day':
      return { every, hour, minute };
    case 'week':
      return { every, days: [1, 2, 3, 4, 5], hour, minute };
    case 'month':
      return { every, day: 1, hour, minute };
  }
}

export interface Time {
  hour: number;
  minute: number;
}

/** `07:05`, the clock of 24 hours in every language. */
export function timeText({ hour, minute }: Time): string {
  return [hour, minute].map((number) => String(number).padStart(2, '0')).join(':');
}

/** The time that a text is; null while it is none. */
export function timeIn(text: string): Time | null {
  const [, hours = '', minutes = ''] = /^\s*(\d{1,2})[:h.](\d{2})\s*$/.exec(text) ?? [];
  const [hour, minute] = [numberIn(hours, 0, 23), numberIn(minutes, 0, 59)];
  return hour === null || minute === null ? null : { hour, minute };
}

function readWithinHour(minutes: string): Plan | null {
  if (minutes === '*') return { every: 'minutes', step: 1 };
  const step = /^(?:\*|0)\/(\d{1,2})$/.exec(minutes)?.[1];
  if (step) return STEPS.some((one) => one === Number(step)) ? { every: 'minutes', step: Number(step) } : null;
  const minute = numberIn(minutes, 0, 59);
  return minute === null ? null : { every: 'hour', minute };
}

function readWeekdays(text: string, unix: boolean): Weekday[] | null {
  const found = new Set<Weekday>();
  for (const part of text.split(',')) {
    const [from, to = from] = part.split('-').map((one) => weekdayOf(one, unix));
    if (!from || !to || part.split('-').length > 2 || from > to) return null;
    for (let day = from; day <= to; day++) found.add(day as Weekday);
  }
  return [...found].sort();
}

function weekdayOf(text: string, unix: boolean): Weekday | null {
  const named = (NAMES as readonly string[]).indexOf(text);
  if (named >= 0) return (named + 1) as Weekday;
  const number = unix ? numberIn(text, 0, 7) : numberIn(text, 1, 7);
  if (number === null) return null;
  const fromSunday = unix ? number % 7 : number - 1;
  return (fromSunday === 0 ? 7 : fromSunday) as Weekday;
}

function isAny(field: string): boolean {
  return field === '*' || field === '?';
}

function numberIn(text: string, low: number, high: number): number | null {
  if (!/^\d{1,2}$/.test(text)) return null;
  const number = Number(text);
  return number >= low && number <= high ? number : null;
}
