// Instants, ages and durations as people read them, in their language and in the zone they chose.

import { preference } from '@/app/preferences';
import type { Language } from '@/i18n/languages';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

let zoneOfBrowser: string | undefined;
const zonesKnown = new Map<string, boolean>();

/** Asked of the browser once: every instant of a list wants it, every second, and each answer would take as long as the
 * rest of its cell. */
export function browserZone(): string {
  zoneOfBrowser ??= Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zoneOfBrowser;
}

/** Whether the browser has a clock for the zone. It knows more names than it lists, and fewer than a newer server. */
export function hasClock(zone: string): boolean {
  return made(zonesKnown, zone, () => {
    try {
      return Boolean(new Intl.DateTimeFormat('en', { timeZone: zone }));
    } catch {
      return false;
    }
  });
}

type Unit = 'ms' | 's' | 'min' | 'h' | 'd';

const UNITS: Record<Language, Record<Unit, string>> = {
  en: { ms: 'ms', s: 's', min: 'min', h: 'h', d: 'd' },
  fr: { ms: 'ms', s: 's', min: 'min', h: 'h', d: 'j' },
  'zh-CN': { ms: '毫秒', s: '秒', min: '分钟', h: '小时', d: '天' },
};

/** A number and its unit. */
export function quantity(count: number | string, unit: Unit, language: Language = preference('language')): string {
  return `${count} ${UNITS[language][unit]}`;
}

/** A number with so many decimals, as the language writes it. */
export function decimal(number: number, digits: number, language: Language = preference('language')): string {
  const format = made(numbers, `${language} ${digits}`, () => {
    return new Intl.NumberFormat(language, { minimumFractionDigits: digits, maximumFractionDigits: digits });
  });
  return format.format(number);
}

/** `42 ms`, `3.1 s`, `1 min 05 s`, `2 h 03 min`, `4 d 2 h`: two units at most, and never only seconds for a long one. */
export function duration(ms: number, language: Language = preference('language')): string {
  const said = (count: number | string, unit: Unit) => quantity(count, unit, language);
  if (ms < SECOND) return said(Math.max(0, Math.round(ms)), 'ms');
  if (ms < 59_950) return said(decimal(ms / SECOND, 1, language), 's');
  const seconds = Math.round(ms / SECOND);
  if (seconds < 3_600) return `${said(Math.floor(seconds / 60), 'min')} ${said(two(seconds % 60), 's')}`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 1_440) return `${said(Math.floor(minutes / 60), 'h')} ${said(two(minutes % 60), 'min')}`;
  const hours = Math.round(ms / HOUR);
  return `${said(Math.floor(hours / 24), 'd')} ${said(hours % 24, 'h')}`;
}

/** A measured delay: none is shorter than can be measured. */
export function delay(ms: number, language: Language = preference('language')): string {
  return ms < 1 ? `< ${quantity(1, 'ms', language)}` : duration(ms, language);
}

/** The same without tenths: where it counts, they would only flicker. */
export function wholeSeconds(seconds: number, language: Language = preference('language')): string {
  return seconds < 60 ? quantity(seconds, 's', language) : duration(seconds * SECOND, language);
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}

/** `12 s ago`, `in 4 min`. Days are counted: which one is tomorrow depends on the clock on the wall. */
export function relative(at: number, now: number, language: Language): string {
  const apart = at - now;
  const size = Math.abs(apart);
  if (size < MINUTE) return ages('auto', language).format(Math.round(apart / SECOND), 'second');
  const format = ages('always', language);
  if (size < HOUR) return format.format(Math.round(apart / MINUTE), 'minute');
  if (size < DAY) return format.format(Math.round(apart / HOUR), 'hour');
  return format.format(Math.round(apart / DAY), 'day');
}

function ages(numeric: 'auto' | 'always', language: Language): Intl.RelativeTimeFormat {
  // The narrowest French is a sign and a number, which nobody reads as an age.
  const style = language === 'fr' ? 'short' : 'narrow';
  return made(relatives, `${language} ${numeric}`, () => new Intl.RelativeTimeFormat(language, { numeric, style }));
}

/** An instant to the second, with the day only when it is another one. */
export function instant(at: number, now: number, language: Language, zone: string): string {
  const day = dates('day', language, zone);
  const sameDay = day.format(at) === day.format(now);
  return dates(sameDay ? 'time' : 'timeOfDay', language, zone).format(at);
}

/** Day and time of an instant with the year, no finer than it is. */
export function dateAndTime(at: number, language: Language, zone: string): string {
  if (at % SECOND !== 0) return dates('pointOfMillis', language, zone).format(at);
  return dates(at % MINUTE === 0 ? 'point' : 'pointOfSeconds', language, zone).format(at);
}

/** The whole of an instant, with its zone: what a tooltip says. */
export function fullInstant(at: number, language: Language, zone: string): string {
  return zoneLast(dates('full', language, zone), at, language);
}

/** With the zone after the time: Chinese has it between day and time, where nobody looks for it. */
export function zoneLast(format: Intl.DateTimeFormat, at: number, language: Language): string {
  if (language !== 'zh-CN') return format.format(at);
  const parts = format.formatToParts(at);
  const said = parts.filter(({ type }) => type !== 'timeZoneName').map(({ value }) => value);
  const zone = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return `${said.join('').replace(/\s+/g, ' ').trim()} ${zone}`.trim();
}

const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const POINT = {
  year: 'numeric',
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
} as const;
const SHAPES = {
  day: { year: 'numeric', month: '2-digit', day: '2-digit' },
  time: TIME,
  timeOfDay: { month: 'short', day: 'numeric', ...TIME },
  point: POINT,
  pointOfSeconds: { ...POINT, second: '2-digit' },
  pointOfMillis: { ...POINT, second: '2-digit', fractionalSecondDigits: 3 },
  full: { ...POINT, second: '2-digit', fractionalSecondDigits: 3, timeZoneName: 'short' },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

// Making a format takes a hundred times as long as using it, and a list uses the same few for every row, every second.
const relatives = new Map<string, Intl.RelativeTimeFormat>();
const numbers = new Map<string, Intl.NumberFormat>();
const shapes = new Map<string, Intl.DateTimeFormat>();

function made<Format>(known: Map<string, Format>, key: string, make: () => Format): Format {
  const found = known.get(key) ?? make();
  known.set(key, found);
  return found;
}

function dates(shape: keyof typeof SHAPES, language: Language, zone: string): Intl.DateTimeFormat {
  return made(shapes, `${shape} ${language} ${zone}`, () => {
    return new Intl.DateTimeFormat(language, { timeZone: zone, ...SHAPES[shape] });
  });
}
