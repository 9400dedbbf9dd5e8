// How many lines have come since somebody stopped following.

import type { Match } from '@/parts/log/LogSearch';

/** `seenTo`: the last line there was then; null while the end is in view. `found`: the lines that are shown, where not
 * every line is. */
export function unseenOf(seenTo: number | null, last: number, found: readonly Match[] | null): number {
  if (seenTo === null) return 0;
  return found === null ? Math.max(0, last - seenTo) : found.filter(({ line }) => line > seenTo).length;
}
