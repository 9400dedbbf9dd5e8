// Which jobs are selected: some of those shown, or everything that matches, which only the server knows.

import { type Key, useState } from 'react';
import type { BoardRow } from '@/api/types';
import type { JobFilters } from '@/pages/jobs/filters';
import { useSelection } from '@/parts/table/selection';

export interface Selecting {
  chosen: readonly BoardRow[];
  /** Whether it is everything that matches. */
  all: boolean;
  /** Select these and nothing else. */
  select: (keys: readonly Key[], rows?: readonly (BoardRow | undefined)[]) => void;
  /** Select everything that matches. */
  selectAll: () => void;
}

export function useJobSelection(filters: JobFilters, shown: readonly BoardRow[]): Selecting {
  const under = JSON.stringify(filters);
  const [allUnder, setAllUnder] = useState<string | null>(null);
  const { chosen, select } = useSelection(under, shown, ({ job }) => job.id);
  const all = allUnder === under;
  return {
    chosen: all ? shown : chosen,
    all,
    select: (keys, rows) => {
      setAllUnder(null);
      select(keys, rows);
    },
    selectAll: () => setAllUnder(under),
  };
}

/** Whether starting or stopping would change a job, as far as it can be read. */
export function wouldChange(deed: 'start' | 'stop', job: BoardRow['job']): boolean {
  if ('unreadable' in job) return true;
  return deed === 'stop' ? job.trigger_status === 1 : job.trigger_status === 0 && job.schedule_type !== 'NONE';
}
