import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useHref, useLocation, useNavigate } from 'react-router';
import { usePreference } from '@/app/preferences';
import type { Log } from '@/parts/log/Log';
import type { LinesHandle } from '@/parts/log/LogLines';
import type { Level } from '@/parts/log/lines';
import { stampFormat } from '@/parts/log/stamps';
import { useDisplayZone } from '@/parts/time/Instant';
import { changed } from '@/parts/useUrlFilters';

/** Where somebody is in a log: the line they were led to, and whether they follow its end. `showAll`: no line is left out. */
export function useReading(log: Log, lines: RefObject<LinesHandle | null>, showAll: () => void) {
  const { target, mark, hrefOf } = useLineLinks();
  const [marked, setMarked] = useState(target);
  const { following, setFollowing: follow, seenTo } = useFollowing(log, target === null);
  const place = useRef(target);
  /** How often one went somewhere: who has gone on meanwhile is not led to what was looked for before. */
  const moves = useRef(0);
  const setFollowing = useCallback(
    (on: boolean) => {
      moves.current += 1;
      follow(on);
    },
    [follow],
  );
  /** To a line that is among those that are shown. */
  const stepTo = useCallback(
    (line: number) => {
      setFollowing(false);
      setMarked(line);
      place.current = line;
      lines.current?.goTo(line);
    },
    [setFollowing, lines],
  );
  /** To any line: all are shown then. */
  const goTo = useCallback(
    (line: number) => {
      showAll();
      stepTo(line);
    },
    [showAll, stepTo],
  );
  const seen = useRef(target);
  useEffect(() => {
    if (target !== null && target !== seen.current) goTo(target);
    seen.current = target;
  }, [target, goTo]);
  const point = useCallback(
    (line: number) => {
      seen.current = line;
      place.current = line;
      setMarked(line);
      showAll();
      mark(line);
    },
    [showAll, mark],
  );
  const beyond = target !== null && log.book.last > 0 && target > log.book.last ? target : null;
  return { marked, beyond, following, setFollowing, seenTo, place, moves, goTo, stepTo, point, hrefOf };
}

/** Shows the lines of all levels. Those of some stay on the page for a moment; meanwhile nobody follows their end. */
export function useShowingAll(levels: readonly Level[], show: (levels: readonly Level[]) => void) {
  const left = useRef(false);
  const showAll = useCallback(() => {
    if (levels.length === 0) return;
    left.current = true;
    show([]);
  }, [levels, show]);
  useEffect(() => {
    if (levels.length === 0) left.current = false;
  }, [levels]);
  return { showAll, left };
}

/** A link to a line is the address of the page and `#L120`; without levels, among which it might not be. */
function useLineLinks() {
  const location = useLocation();
  const navigate = useNavigate();
  const search = changed(new URLSearchParams(location.search), { level: undefined }).toString();
  const here = useHref({ pathname: location.pathname, search });
  const found = /^#L([1-9]\d{0,9})$/.exec(location.hash)?.[1];
  const hrefOf = useCallback((line: number) => `${here}#L${line}`, [here]);
  const mark = useCallback(
    (line: number) => void navigate({ search, hash: `#L${line}` }, { replace: true }),
    [navigate, search],
  );
  return { target: found ? Number(found) : null, mark, hrefOf };
}

/** Whether the end is kept in view, and the last line there was when it ceased to be. */
function useFollowing(log: Log, atFirst: boolean) {
  const [following, setOn] = useState(atFirst);
  const [seen, setSeen] = useState(0);
  const setFollowing = useCallback(
    (on: boolean) => {
      setSeen(log.book.last);
      setOn(on);
    },
    [log],
  );
  const over = log.stream.state.kind === 'over';
  return { following, setFollowing, seenTo: following || over || seen === 0 ? null : seen };
}

/** How the times of lines are shown. */
export function useStamp(startTime: string | null) {
  const [stamps] = usePreference('logStamps');
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  const since = startTime === null ? null : Date.parse(startTime);
  return useMemo(() => stampFormat(stamps, since, language, zone), [stamps, since, language, zone]);
}
