// Names of time zones to choose from: those the server knows, old and new. Browsers list one name of each zone, and that
// is often the old one.

import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { zonesQuery } from '@/api/zones';

/** UTC first; those of the browser until the server has said which there are. `asked`: not before somebody looks. */
export function useZones(asked: boolean): readonly string[] {
  const known = useQuery({ ...zonesQuery, enabled: asked }).data;
  return useMemo(() => {
    const names = known ?? Intl.supportedValuesOf('timeZone');
    return ['UTC', ...names.filter((one) => one !== 'UTC')];
  }, [known]);
}

/** As people type it: `new york` is `America/New_York`. */
function plain(text: string): string {
  return text
    .trim()
    .toLowerCase()
    .replace(/[_/\s]+/g, ' ');
}

export function isZoneLike(typed: string, name: string): boolean {
  return plain(name).includes(plain(typed));
}

/** What is called just so comes first, then what begins like it, the place before the continent. */
export function zoneOrder(typed: string, one: string, other: string): number {
  return closeness(typed, one) - closeness(typed, other);
}

function closeness(typed: string, name: string): number {
  const [wanted, whole, place] = [plain(typed), plain(name), plain(name.split('/').at(-1) ?? '')];
  if (whole === wanted) return 0;
  if (place === wanted) return 1;
  if (place.startsWith(wanted)) return 2;
  return whole.startsWith(wanted) ? 3 : 4;
}
