// How stale a beat is that is expected every thirty seconds.

import { wholeSeconds } from '@/parts/time/format';
import type { StatusColours } from '@/theme/tokens';

export type Grade = 'fresh' | 'missed30' | 'missed60' | 'missed90';

export const GRADE_COLOURS: Record<Grade, keyof StatusColours | null> = {
  fresh: null,
  missed30: 'orange',
  missed60: 'orange',
  missed90: 'red',
};

/** A tenth of slack, as on the server: a beat in flight is not a missed beat. */
export function gradeOf(ageMs: number): Grade {
  if (ageMs >= 90_000) return 'missed90';
  if (ageMs >= 60_000) return 'missed60';
  return ageMs > 33_000 ? 'missed30' : 'fresh';
}

/** The instant of a beat on this browser's clock, from its age when the answer came: no two machines' clocks are
 * compared. */
export function beatOn(answeredAt: number, ageSeconds: number): number {
  return answeredAt - ageSeconds * 1_000;
}

/** An age in whole seconds: it counts, and tenths would only flicker. */
export function ageText(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1_000));
  return wholeSeconds(seconds);
}
