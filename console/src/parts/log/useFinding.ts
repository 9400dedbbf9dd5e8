import { type RefObject, useEffect, useMemo, useRef } from 'react';
import type { Log } from '@/parts/log/Log';
import { matchFrom, type Query } from '@/parts/log/LogSearch';
import { searchFor } from '@/parts/log/segments';
import { useLogSearch } from '@/parts/log/useLog';

const MATCHES_AT_ONCE = 1_000;
const LOOK_EVERY = 1_000;

/** A search over the whole log, and one's way through what it finds. */
export function useFinding(
  log: Log,
  place: RefObject<number | null>,
  marked: number | null,
  goTo: (line: number) => void,
) {
  const search = useLogSearch(log, MATCHES_AT_ONCE);
  const { state } = search;
  const { query, matches, toLine } = state;
  const arrived = useRef(true);
  const expression = useMemo(() => query && searchFor(query.text, query.regex, query.ignoreCase), [query]);
  useEffect(() => {
    if (arrived.current || matches.length === 0) return;
    arrived.current = true;
    const match = matches[matchFrom(matches, (place.current ?? 1) - 1, 1)];
    if (match) goTo(match.line);
  }, [matches, goTo, place]);
  const behind = !!query && !state.busy && !state.end && matches.length < MATCHES_AT_ONCE && log.book.last > toLine;
  useEffect(() => {
    if (!behind) return;
    const timer = setTimeout(() => search.more(), LOOK_EVERY);
    return () => clearTimeout(timer);
  }, [behind, search]);

  function step(direction: 1 | -1) {
    const index = matchFrom(matches, marked ?? 0, direction);
    const match = matches[index];
    if (match) goTo(match.line);
    if (index === matches.length - 1 && !state.end) search.more();
  }

  function start(wanted: Query | null) {
    arrived.current = false;
    search.start(wanted);
  }

  const current = useMemo(() => matches.findIndex((match) => match.line === marked), [matches, marked]);
  return { state, expression, current, start, step };
}
