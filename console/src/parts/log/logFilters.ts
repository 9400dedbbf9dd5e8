// What is searched for in a log and which levels are shown, as it stands in the address.

import { useCallback, useMemo, useState } from 'react';
import type { Query } from '@/parts/log/LogSearch';
import { LEVELS, type Level } from '@/parts/log/lines';
import { type Filters, notUnderstood, useUrlFilters } from '@/parts/useUrlFilters';

const NAMES = ['q', 'regex', 'case', 'level'] as const;
type Name = (typeof NAMES)[number];
type Changes = { [P in Name]?: string | undefined };

export function queryIn({ q, regex, case: exact }: Filters<Name>): Query | null {
  return q === undefined ? null : { text: q, regex: regex !== undefined, ignoreCase: exact === undefined };
}

export function askedBy(query: Query | null): Changes {
  return {
    q: query?.text,
    regex: query?.regex ? '1' : undefined,
    case: query && !query.ignoreCase ? '1' : undefined,
  };
}

/** Undefined where one of them is none. */
export function levelsIn({ level }: Filters<Name>): Level[] | undefined {
  const named = level?.split(',') ?? [];
  const known = LEVELS.filter((one) => named.includes(one));
  return named.every((one) => (LEVELS as readonly string[]).includes(one)) ? known : undefined;
}

/** `apart`: the log is not what the page is about, and its filters are not in the address. */
export function useLogFilters(apart: boolean) {
  const [addressed, changeAddress] = useUrlFilters(NAMES);
  const [own, setOwn] = useState<Filters<Name>>({});
  const changeOwn = useCallback((changes: Changes) => setOwn((before) => kept({ ...before, ...changes })), []);
  const filters = apart ? own : addressed;
  const change = apart ? changeOwn : changeAddress;
  const { q, regex, case: exact, level } = filters;
  const query = useMemo(() => queryIn(kept({ q, regex, case: exact })), [q, regex, exact]);
  const levels = useMemo(() => levelsIn(kept({ level })), [level]);
  return {
    query,
    levels: levels ?? NO_LEVELS,
    /** What stands instead of lines where the address asks for what does not exist. */
    strange: { filters, change, names: notUnderstood(filters, { q, regex, case: exact, level: levels }) },
    search: useCallback((wanted: Query | null) => change(askedBy(wanted)), [change]),
    show: useCallback((chosen: readonly Level[]) => change({ level: chosen.join(',') || undefined }), [change]),
    /** For another page that shows the same. */
    address: new URLSearchParams(filters).toString(),
  };
}

const NO_LEVELS: readonly Level[] = [];

function kept(changes: Changes): Filters<Name> {
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}
