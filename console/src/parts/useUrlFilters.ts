// Filters live in the address: they survive a reload, Back undoes them, and a link shows others the same.

import { useCallback, useEffect, useMemo, useRef } from 'react';
import { useSearchParams } from 'react-router';

export type Filters<K extends string> = Partial<Record<K, string>>;

/** The filters among `names` that the address holds, and a way to change some of them. */
export function useUrlFilters<K extends string>(
  names: readonly K[],
): [Filters<K>, (changes: { [P in K]?: string | undefined }) => void] {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => filtersIn(params, names), [params, names]);
  // What was chosen last: a slow page may still be about to show it when the next filter is chosen, which is not to undo it.
  const last = useRef(params);
  useEffect(() => {
    last.current = params;
  }, [params]);
  const change = useCallback(
    (changes: { [P in K]?: string | undefined }) => {
      last.current = changed(last.current, changes);
      setParams(last.current);
    },
    [setParams],
  );
  return [filters, change];
}

export function filtersIn<K extends string>(params: URLSearchParams, names: readonly K[]): Filters<K> {
  const found: Filters<K> = {};
  for (const name of names) {
    const value = params.getAll(name).filter(Boolean).join(','); // one given twice is told of, not halved
    if (value) found[name] = value;
  }
  return found;
}

/** What the address asks for by names that the page does not know, and a way to take it out. */
export function useUnknown(
  known: readonly string[],
): [Filters<string>, (changes: Record<string, string | undefined>) => void] {
  const [params, setParams] = useSearchParams();
  const unknown = useMemo(() => unknownIn(params, known), [params, known]);
  const change = useCallback(
    (changes: Record<string, string | undefined>) => setParams((before) => changed(before, changes)),
    [setParams],
  );
  return [unknown, change];
}

export function unknownIn(params: URLSearchParams, known: readonly string[]): Filters<string> {
  return filtersIn(
    params,
    [...params.keys()].filter((name) => !known.includes(name)),
  );
}

export function changed(before: URLSearchParams, changes: Record<string, string | undefined>): URLSearchParams {
  const after = new URLSearchParams(before);
  for (const [name, value] of Object.entries(changes)) {
    if (value) after.set(name, value);
    else after.delete(name);
  }
  return after;
}

/** The filters whose value nobody can mean: those that what is asked for says nothing of. */
export function notUnderstood<K extends string>(filters: Filters<K>, asked: Partial<Record<K, unknown>>): K[] {
  return (Object.keys(filters) as K[]).filter((name) => filters[name]?.trim() && asked[name] === undefined);
}
