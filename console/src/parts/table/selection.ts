// What somebody selected in a live list: it stays selected until they leave it, also when it has left the list meanwhile.

import { type Key, useState } from 'react';

interface Selection<Row> {
  /** The filters it was made under: with others it is empty, so that nothing is done to what nobody sees. */
  under: string;
  rows: readonly Row[];
}

export interface Selecting<Row> {
  /** As they are now; those that have left the list as they were last. */
  chosen: readonly Row[];
  /** Select these and nothing else; `rows` has those among them that the list may no longer have. */
  select: (keys: readonly Key[], rows?: readonly (Row | undefined)[]) => void;
}

export function useSelection<Row>(under: string, shown: readonly Row[], keyOf: (row: Row) => Key): Selecting<Row> {
  const [selection, setSelection] = useState<Selection<Row>>({ under, rows: [] });
  const before = selection.under === under ? selection.rows : [];
  const chosen = asTheyAre(before, shown, keyOf);
  if (selection.under !== under || chosen.some((row, at) => row !== before[at])) setSelection({ under, rows: chosen });
  return {
    chosen,
    select: (keys, rows = []) => {
      const known = new Map([...chosen, ...rows, ...shown].flatMap((row) => (row ? [[keyOf(row), row] as const] : [])));
      setSelection({ under, rows: keys.flatMap((key) => known.get(key) ?? []) });
    },
  };
}

function asTheyAre<Row>(rows: readonly Row[], shown: readonly Row[], keyOf: (row: Row) => Key): readonly Row[] {
  if (rows.length === 0) return rows;
  const now = new Map(shown.map((row) => [keyOf(row), row]));
  return rows.map((row) => now.get(keyOf(row)) ?? row);
}
