// Which jobs are selected. A selection belongs to the filters it was made under: with others it is empty, so that nothing
// is done to what nobody sees.

import { useState } from 'react';
import type { BoardRow } from '@/api/types';
import type { JobFilters } from '@/pages/jobs/filters';

export interface Selection {
  under: string;
  keys: readonly number[];
  /** All that matched, where all were asked for: more than the table has loaded. */
  found: readonly BoardRow[];
}

/** The selected rows: those shown, as they are now, then those that were found beyond them. */
export function chosenOf({ under, keys, found }: Selection, now: string, shown: readonly BoardRow[]): BoardRow[] {
  if (under !== now) return [];
  const wanted = new Set(keys);
  const seen = new Set(shown.map(({ job }) => job.id));
  const beyond = found.filter(({ job }) => !seen.has(job.id));
  return [...shown, ...beyond].filter(({ job }) => wanted.has(job.id));
}

export interface Selecting {
  chosen: BoardRow[];
  /** Select these among what is shown, or was found. */
  select: (keys: readonly number[]) => void;
  /** Select all that were found to match. */
  selectAll: (found: readonly BoardRow[]) => void;
}

export function useSelection(filters: JobFilters, shown: readonly BoardRow[]): Selecting {
  const under = JSON.stringify(filters);
  const [selection, setSelection] = useState<Selection>({ under, keys: [], found: [] });
  const found = selection.under === under ? selection.found : [];
  return {
    chosen: chosenOf(selection, under, shown),
    select: (keys) => setSelection({ under, keys, found: keys.length > 0 ? found : [] }),
    selectAll: (all) => setSelection({ under, keys: all.map(({ job }) => job.id), found: all }),
  };
}
