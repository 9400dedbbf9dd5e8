// Which jobs are selected. A selection belongs to the filters it was made under: with others it is empty, so that nothing
// is done to what nobody sees.

import { useState } from 'react';
import type { BoardRow } from '@/api/types';
import type { JobFilters } from '@/pages/jobs/filters';

export interface Selection {
  under: string;
  keys: readonly number[];
  /** Everything that matches, also what is not shown: the server knows which. */
  all: boolean;
}

/** The selected rows among those shown, as they are now. */
export function chosenOf({ under, keys, all }: Selection, now: string, shown: readonly BoardRow[]): BoardRow[] {
  if (under !== now) return [];
  const wanted = new Set(keys);
  return all ? [...shown] : shown.filter(({ job }) => wanted.has(job.id));
}

export interface Selecting {
  chosen: BoardRow[];
  /** Whether it is everything that matches. */
  all: boolean;
  /** Select these among what is shown, and nothing else. */
  select: (keys: readonly number[]) => void;
  /** Select everything that matches. */
  selectAll: () => void;
}

export function useSelection(filters: JobFilters, shown: readonly BoardRow[]): Selecting {
  const under = JSON.stringify(filters);
  const [selection, setSelection] = useState<Selection>({ under, keys: [], all: false });
  return {
    chosen: chosenOf(selection, under, shown),
    all: selection.all && selection.under === under,
    select: (keys) => setSelection({ under, keys, all: false }),
    selectAll: () => setSelection({ under, keys: [], all: true }),
  };
}
