// Filters live in the address: they survive a reload, Back undoes them, and a link shows others the same.

import { createContext, useCallback, useContext, useMemo } from 'react';
import { type Location, type SetURLSearchParams, useLocation, useSearchParams } from 'react-router';

export type Filters<K extends string> = Partial<Record<K, string>>;

/** Where the router is or is just going, which a slow page may not show yet. Without a router that tells it: what is shown. */
export const AddressNow = createContext<(() => Location) | null>(null);

/** The filters among `names` that the address holds, and a way to change some of them. */
export function useUrlFilters<K extends string>(
  names: readonly K[],
): [Filters<K>, (changes: { [P in K]?: string | undefined }) => void] {
  const [params, setParams] = useSearchParams();
  const filters = useMemo(() => filtersIn(params, names), [params, names]);
  return [filters, useChange(params, setParams)];
}

/** Change the address as it is by now: what was chosen or undone a moment ago is not to come back with the next choice. */
function useChange(shown: URLSearchParams, setParams: SetURLSearchParams) {
  const now = useContext(AddressNow);
  const { pathname } = useLocation();
  return useCallback(
    (changes: Record<string, string | undefined>) => {
      const address = now?.();
      const here = address?.pathname.endsWith(pathname); // it has the path prefix as well
      setParams(changed(address && here ? new URLSearchParams(address.search) : shown, changes));
    },
    [now, pathname, shown, setParams],
  );
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
  return [unknown, useChange(params, setParams)];
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
