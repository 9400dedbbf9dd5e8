// Instants, ages and durations as people read them, in their language and in the zone they chose.

import type { Language } from '@/i18n/languages';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** `42 ms`, `3.1 s`, `1 min 05 s`, `2 h 03 min`, `4 d 2 h`: two units at most, and never only seconds for a long one. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 59_950) return `${(ms / SECOND).toFixed(1)} s`;
  const seconds = Math.round(ms / SECOND);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.round(ms / MINUTE);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  const hours = Math.round(ms / HOUR);
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

function two(number: number): string {
  return String(number).padStart(2, '0');
}

/** `12 s ago`, `in 4 min`. */
export function relative(at: number, now: number, language: Language): string {
  // The narrowest French is a sign and a number, which nobody reads as an age.
  const style = language === 'fr' ? 'short' : 'narrow';
  const format = made(ages, `${language} ${style}`, () => {
    return new Intl.RelativeTimeFormat(language, { numeric: 'auto', style });
  });
  const apart = at - now;
  const size = Math.abs(apart);
  if (size < MINUTE) return format.format(Math.round(apart / SECOND), 'second');
  if (size < HOUR) return format.format(Math.round(apart / MINUTE), 'minute');
  if (size < DAY) return format.format(Math.round(apart / HOUR), 'hour');
  return format.format(Math.round(apart / DAY), 'day');
}

/** An instant to the second, with the day only when it is another one. */
export function instant(at: number, now: number, language: Language, zone: string): string {
  const day = dates('day', language, zone);
  const sameDay = day.format(at) === day.format(now);
  return dates(sameDay ? 'time' : 'timeOfDay', language, zone).format(at);
}

/** The whole of an instant, with its zone: what a tooltip says. */
export function fullInstant(at: number, language: Language, zone: string): string {
  return dates('full', language, zone).format(at);
}

const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
const SHAPES = {
  day: { year: 'numeric', month: '2-digit', day: '2-digit' },
  time: TIME,
  timeOfDay: { month: 'short', day: 'numeric', ...TIME },
  full: {
    year: 'numeric',
    month: 'short',
    day: 'numeric',
    ...TIME,
    fractionalSecondDigits: 3,
    timeZoneName: 'short',
  },
} as const satisfies Record<string, Intl.DateTimeFormatOptions>;

// Making a format takes a hundred times as long as using it, and a list uses the same few for every row, every second.
const ages = new Map<string, Intl.RelativeTimeFormat>();
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
