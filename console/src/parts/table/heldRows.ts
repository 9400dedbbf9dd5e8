// Rows of a live list stay where they are while somebody points at one, has one in focus, has opened something of one or
// has selected some: a press must meet the row it was meant for, and what is selected must be seen. What the rows say goes on changing; which rows there are, and where, waits.

import { type Key, type RefCallback, useCallback, useEffect, useRef, useState } from 'react';
import { useLocation } from 'react-router';

export interface Steady<Row> {
  rows: Row[];
  /** How many that are new wait to be shown. */
  fresh: number;
  /** Whether the list would look otherwise by now. */
  changed: boolean;
}

/**
 * The rows that are held, as they are now. One that has left the list stays as it is given; those that follow the last are
 * added, for they move nothing.
 */
export function steady<Row>(held: readonly Row[], now: readonly Row[], keyOf: (row: Row) => Key): Steady<Row> {
  if (held.length === 0) return { rows: [...now], fresh: 0, changed: false };
  const known = new Set(held.map(keyOf));
  const current = new Map(now.map((row) => [keyOf(row), row]));
  const last = now.findLastIndex((row) => known.has(keyOf(row)));
  const after = last < 0 ? [] : now.slice(last + 1);
  const rows = [...held.map((row) => current.get(keyOf(row)) ?? row), ...after];
  const changed = rows.length !== now.length || rows.some((row, at) => row !== now[at]);
  // Where none is left nobody knows how many came.
  const fresh = last < 0 ? 0 : now.slice(0, last).filter((row) => !known.has(keyOf(row))).length;
  return { rows, fresh, changed };
}

interface Hold<Row> {
  rows: Row[];
  /** What the address asked for: rows are not held into another list. */
  asked: string;
}

interface HeldRows<Row> extends Steady<Row> {
  /** What is around the rows. */
  place: RefCallback<HTMLElement>;
  /** Shows the list as it is now. */
  release: () => void;
}

/** Rows that are held though they have left the list, as they are by now: a hook, for it has to ask. */
export type UseLatest<Row> = (left: Row[]) => Row[];
export const asTheyWere = <Row>(left: Row[]): Row[] => left;

/** `selected`: whether some of them are. */
export function useHeldRows<Row>(
  now: Row[],
  keyOf: (row: Row) => Key,
  selected = false,
  useLatest: UseLatest<Row> = asTheyWere,
): HeldRows<Row> {
  const asked = useLocation().search;
  const [hold, setHold] = useState<Hold<Row> | null>(null);
  const kept = hold?.asked === asked ? hold.rows : [];
  const current = new Set(kept.length > 0 ? now.map(keyOf) : []);
  const left = useLatest(kept.filter((row) => !current.has(keyOf(row))));
  const latestOf = new Map(left.map((row) => [keyOf(row), row]));
  const shown = steady(
    kept.map((row) => latestOf.get(keyOf(row)) ?? row),
    now,
    keyOf,
  );
  const latest = useRef<Hold<Row>>({ rows: [], asked });
  useEffect(() => {
    latest.current = { rows: shown.rows, asked };
  });
  const wanted = useRef({ within: false, selected: false });
  const want = useCallback((change: Partial<typeof wanted.current>) => {
    Object.assign(wanted.current, change);
    setHold((before) => {
      if (!wanted.current.within && !wanted.current.selected) return null;
      return before?.asked === latest.current.asked && before.rows.length > 0 ? before : latest.current;
    });
  }, []);
  useEffect(() => want({ selected }), [selected, want]);
  const place = useCallback(
    (box: HTMLElement | null) => {
      if (!box) return;
      return watchRows(box, (within) => want({ within }));
    },
    [want],
  );
  return { ...shown, place, release: () => setHold((before) => before && { rows: now, asked }) };
}

const OPENED = 'tr[data-row-key] [aria-haspopup][aria-expanded="true"]';

/**
 * Tells whether the pointer or the focus of the keyboard is in a row, or something that was opened belongs to one; what a
 * pointer has pressed it leaves again.
 */
function watchRows(box: HTMLElement, tell: (wanted: boolean) => void): () => void {
  const within = { pointer: false, focus: false, opened: false };
  const note = (change: Partial<typeof within>) => {
    Object.assign(within, change);
    tell(within.pointer || within.focus || within.opened);
  };
  const rowOf = ({ target }: Event) => (target instanceof Element ? target.closest('tr[data-row-key]') : null);
  const heard: Record<string, (event: Event) => void> = {
    pointerover: (event) => note({ pointer: rowOf(event) !== null }),
    pointerleave: () => note({ pointer: false }),
    focusin: (event) => note({ focus: rowOf(event) !== null && (event.target as Element).matches(':focus-visible') }),
    focusout: () => note({ focus: false }),
  };
  for (const [name, hear] of Object.entries(heard)) box.addEventListener(name, hear);
  const opening = new MutationObserver(() => {
    const opened = box.querySelector(OPENED) !== null;
    if (opened !== within.opened) note({ opened });
  });
  opening.observe(box, { subtree: true, childList: true, attributeFilter: ['aria-expanded'] });
  return () => {
    opening.disconnect();
    for (const [name, hear] of Object.entries(heard)) box.removeEventListener(name, hear);
  };
}
