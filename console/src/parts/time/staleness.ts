// How stale a beat is, by the rules of whoever expects it.

import { wholeSeconds } from '@/parts/time/format';
import type { StatusColours } from '@/theme/tokens';

export type Grade = 'fresh' | 'missed30' | 'missed60' | 'missed90';

export const GRADE_COLOURS: Record<Grade, keyof StatusColours | null> = {
  fresh: null,
  missed30: 'orange',
  missed60: 'orange',
  missed90: 'red',
};

/** When a beat is expected, and when it is too late; ms. */
export interface BeatRules {
  every: number;
  dead: number;
  /** How much later than it was a beat may be seen. */
  seenAfter?: number;
}

/** Of services, and of executors until the server has said otherwise. */
export const USUAL: BeatRules = { every: 30_000, dead: 90_000 };

/** A tenth of slack, as on the server: a beat in flight is not a missed beat. */
export function gradeOf(ageMs: number, { every, dead, seenAfter = 0 }: BeatRules = USUAL): Grade {
  if (ageMs >= dead) return 'missed90';
  if (ageMs >= 2 * every + seenAfter) return 'missed60';
  return ageMs > 1.1 * every + seenAfter ? 'missed30' : 'fresh';
}

/** What a state looks like that was good when its process was last heard of: less so the longer that is ago. */
export function degraded<Look extends { colour: keyof StatusColours }>(look: Look, grade: Grade): Look {
  const colour = GRADE_COLOURS[grade];
  return colour ? { ...look, colour, pulsing: false } : look;
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
