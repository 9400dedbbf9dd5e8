import { type RefObject, useEffect, useMemo, useRef } from 'react';
import type { Log } from '@/parts/log/Log';
import { type Match, matchFrom, type Place, type Query, type SearchState } from '@/parts/log/LogSearch';
import type { Level } from '@/parts/log/lines';
import { searchFor } from '@/parts/log/segments';
import { useLogSearch } from '@/parts/log/useLog';
import { within } from '@/parts/log/within';

const MATCHES_AT_ONCE = 1_000;
const LOOK_EVERY = 1_000;

interface Reading {
  /** The first line in view. */
  place: RefObject<number | null>;
  /** The line the reader was led to. */
  marked: number | null;
  following: boolean;
  stepTo: (line: number) => void;
}

/** A search over the whole log, or its lines of some levels, and one's way through what it finds. */
export function useFinding(log: Log, query: Query | null, levels: readonly Level[], reading: Reading) {
  const { place, marked, following, stepTo: goTo } = reading;
  const { state, more } = useMatches(log, query, levels, following);
  const { matches } = state;
  const arrived = useRef(marked === null ? null : query); // a link to a line leads there, whatever else it asks for
  const search = useMemo(() => query && !query.regex && searchFor(query.text, query.ignoreCase), [query]);
  const places = useMemo(
    () => new Map(query?.regex ? matches.map((match): [number, Place] => [match.line, match]) : []),
    [query, matches],
  );
  const chosen = levels.length > 0; // then what is found is all that is shown, from the first on
  useEffect(() => {
    if (arrived.current === query || matches.length === 0) return;
    arrived.current = query;
    const match = matches[chosen ? 0 : matchFrom(matches, (place.current ?? 1) - 1, 1)];
    if (query && match) goTo(match.line);
  }, [query, matches, chosen, goTo, place]);

  function step(direction: 1 | -1) {
    const index = matchFrom(matches, marked ?? 0, direction);
    const match = matches[index];
    if (match) goTo(match.line);
    if (index === matches.length - 1 && !state.end) more();
  }

  const current = useMemo(() => matches.findIndex((match) => match.line === marked), [matches, marked]);
  return { state, search: search || null, places, current, step, more };
}

/** The lines that have what is looked for, and one of the levels where some are chosen; kept up with what is written.
 * Whoever follows waits for the end: until the search has been there, it does not pause. */
function useMatches(log: Log, query: Query | null, levels: readonly Level[], following: boolean) {
  const search = useLogSearch(log, MATCHES_AT_ONCE);
  const wanted = useMemo(() => within(query, levels), [query, levels]);
  useEffect(() => search.start(wanted), [search, wanted]);
  const begun = search.state.query === wanted;
  const { matches, busy, end, toLine } = search.state;
  const growing = levels.length > 0 && log.stream.state.kind !== 'over';
  const room = matches.length < MATCHES_AT_ONCE || growing;
  const behind = !!wanted && begun && !busy && !end && room && log.book.last > toLine;
  const pause = following && levels.length > 0 && !search.state.caughtUp ? 0 : LOOK_EVERY;
  useEffect(() => {
    if (!behind) return;
    const timer = setTimeout(() => search.more(), pause);
    return () => clearTimeout(timer);
  }, [behind, search, pause]);
  const none = useMemo<Match[]>(() => [], []);
  const state: SearchState = {
    ...search.state,
    query,
    matches: begun ? matches : none,
    busy: busy || !begun,
    caughtUp: begun && search.state.caughtUp,
  };
  return { state, more: () => search.more() };
}
