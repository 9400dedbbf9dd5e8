// The point in time of a schedule that fires once, as people write it in their language. A time without an offset is
// one of the clock of the job's zone.

import type { Language } from '@/i18n/languages';
import { dateAndTime, hasClock } from '@/parts/time/format';

const WRITTEN =
  /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?)?(?:(Z)|([+-]\d{2}):?(\d{2}))?$/i;

/** In words, on the clock of the zone; null where it cannot be read here. The server alone says whether it is good. */
export function pointInTime(conf: string, zone: string, language: Language): string | null {
  const text = conf.trim();
  if (/^\d+$/.test(text)) return told(Number(text), zone, language);
  const [found, day, time = '00:00', seconds = '00', fraction = '', utc, hours, minutes = '00'] =
    WRITTEN.exec(text) ?? [];
  if (found === undefined) return null;
  const local = `${day}T${time}:${seconds}.${fraction.slice(0, 3).padEnd(3, '0')}`;
  const written = Date.parse(`${local}Z`);
  if (Number.isNaN(written) || !new Date(written).toISOString().startsWith(`${day}T${time}`)) return null;
  if (utc !== undefined) return told(written, zone, language);
  return hours === undefined
    ? told(written, 'UTC', language)
    : told(Date.parse(`${local}${hours}:${minutes}`), zone, language);
}

function told(at: number, zone: string, language: Language): string | null {
  return Math.abs(at) <= 8.64e15 && hasClock(zone) ? dateAndTime(at, language, zone) : null;
}
