// How the time of a line is shown.

import type { Language } from '@/i18n/languages';

export const STAMPS = ['full', 'seconds', 'relative', 'off'] as const;
export type Stamps = (typeof STAMPS)[number];

/** A format for the times of lines; undefined when they are not wanted. `since`: where the execution began, in ms. */
export function stampFormat(
  kind: Stamps,
  since: number | null,
  language: Language,
  zone: string,
): ((at: number) => string) | undefined {
  if (kind === 'off') return undefined;
  if (kind === 'relative' && since !== null) return (at) => elapsed(at - since);
  const time = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' } as const;
  const format = new Intl.DateTimeFormat(language, {
    timeZone: zone,
    ...time,
    ...(kind === 'full' && { year: 'numeric', month: '2-digit', day: '2-digit', fractionalSecondDigits: 3 }),
  });
  return (at) => format.format(at);
}

/** `+1:02:03.456`; what was written before the beginning has a minus. */
export function elapsed(ms: number): string {
  const size = Math.abs(ms);
  const two = (number: number) => String(Math.floor(number)).padStart(2, '0');
  const hours = Math.floor(size / 3_600_000);
  const rest = `${two((size / 60_000) % 60)}:${two((size / 1_000) % 60)}.${String(size % 1_000).padStart(3, '0')}`;
  return `${ms < 0 ? '−' : '+'}${hours > 0 ? `${hours}:` : ''}${rest}`;
}
