// The lines of a log, of which only those in view are on the page.

import { Button } from 'antd';
import {
  type Ref,
  type RefObject,
  useCallback,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { type ListRange, Virtuoso, type VirtuosoHandle } from 'react-virtuoso';
import type { Log } from '@/parts/log/Log';
import { LogRow } from '@/parts/log/LogRow';
import type { Place } from '@/parts/log/LogSearch';
import { LINE_HEIGHT, Rows, WINDOW_LINES, type Window, WRAPPED_WINDOW_LINES } from '@/parts/log/rows';
import { Scroller } from '@/parts/log/Scroller';
import { useJumps, useScrollWatch, useSteadyRows, useWindow } from '@/parts/log/useLines';

export interface LinesHandle {
  goTo: (line: number) => void;
}

/** How lines are shown, whichever they are. */
export interface LinesShown {
  log: Log;
  label: string;
  wrap: boolean;
  stamp: ((at: number) => string) | undefined;
  search: RegExp | null;
  /** Where the server found what is looked for, by line. */
  places: ReadonlyMap<number, Place>;
  hrefOf: (line: number) => string;
  onNumber: (line: number) => void;
  onWhole: (line: number) => void;
}

interface Props extends LinesShown {
  ref: Ref<LinesHandle>;
  following: boolean;
  /** Somebody scrolled away from the end, or back to it. */
  onFollow: (following: boolean) => void;
  /** The line one was led to by a link or a search. */
  marked: number | null;
  /** The line to begin at, null for the end; then the first in view. */
  place: RefObject<number | null>;
}

/** What is above the view is not drawn: so the first row that is drawn is the first one in view. */
const DRAWN_BEYOND = { top: 0, bottom: 300 };

export function LogLines(props: Props) {
  const { log, wrap, following, marked, place, onFollow } = props;
  const { book } = log;
  const list = useRef<VirtuosoHandle>(null);
  const range = useRef<ListRange>({ startIndex: 0, endIndex: 0 });
  const [startAt] = useState(place.current);
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const { window, move } = useWindow(book.last, wrap ? WRAPPED_WINDOW_LINES : WINDOW_LINES, startAt, following);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the book changes inside; its version says so
  const rows = useMemo(
    () => new Rows(window, book.hidden(opened, marked)),
    [window, book, book.foldsVersion, opened, marked],
  );
  useSteadyRows(rows, range, list, following);
  const jump = useJumps(rows, range, list, following);
  const goTo = useCallback(
    (line: number) => {
      move(line);
      jump(line);
    },
    [move, jump],
  );
  useImperativeHandle(props.ref, () => ({ goTo }), [goTo]);
  const look = useCallback(
    (seen: ListRange) => {
      range.current = seen;
      place.current = rows.lineAt(seen.startIndex);
      log.reader.want(place.current, rows.lineAt(seen.endIndex));
    },
    [log, rows, place],
  );
  useEffect(() => {
    if (range.current.endIndex > 0) look(range.current);
  }, [look]);
  const onFold = useCallback((head: number) => setOpened((before) => toggled(before, head)), []);
  const [first] = useState(() => firstRow(rows, startAt, marked));
  const watch = useScrollWatch(following, onFollow);

  function rowAt(row: number) {
    const number = rows.lineAt(row);
    const gap = book.gapAt(number);
    if (gap) return <GapRow first={gap.first} last={gap.last} />;
    const fold = book.foldAt(number);
    const shut = fold && !(marked !== null && fold.first <= marked && marked <= fold.last);
    return (
      <LogRow
        number={number}
        href={props.hrefOf(number)}
        line={book.line(number)}
        stamp={props.stamp}
        search={props.search}
        place={props.places.get(number)}
        marked={number === marked}
        {...(shut && { fold, folded: !opened.has(number), onFold })}
        onNumber={props.onNumber}
        onWhole={props.onWhole}
      />
    );
  }

  return (
    <Virtuoso
      ref={list}
      className={wrap ? 'log-lines log-wrapped' : 'log-lines'}
      scrollerRef={watch.scroller}
      totalCount={rows.count}
      {...(!wrap && { fixedItemHeight: LINE_HEIGHT })}
      defaultItemHeight={LINE_HEIGHT}
      increaseViewportBy={DRAWN_BEYOND}
      initialTopMostItemIndex={first}
      rangeChanged={look}
      followOutput={watch.output}
      atBottomStateChange={(atEnd) => atEnd && window.last === book.last && watch.atEnd()}
      context={{ label: props.label, window, last: book.last, goTo }}
      components={COMPONENTS}
      computeItemKey={(row) => rows.lineAt(row)}
      itemContent={rowAt}
    />
  );
}

function firstRow(rows: Rows, startAt: number | null, marked: number | null) {
  if (startAt === null) return { index: Math.max(0, rows.count - 1), align: 'end' as const };
  return { index: rows.rowOf(startAt), align: startAt === marked ? ('center' as const) : ('start' as const) };
}

function toggled(before: ReadonlySet<number>, one: number): ReadonlySet<number> {
  const after = new Set(before);
  if (!after.delete(one)) after.add(one);
  return after;
}

interface ListContext {
  label: string;
  window: Window;
  last: number;
  goTo: (line: number) => void;
}

/** A button where a log goes on that is longer than a page can be. */
function Earlier({ context: { window, goTo } }: { context: ListContext }) {
  const { t } = useTranslation('log');
  if (window.first === 1) return null;
  return <Beyond onClick={() => goTo(window.first)} text={t('earlier', { count: window.first - 1 })} />;
}

function Later({ context: { window, last, goTo } }: { context: ListContext }) {
  const { t } = useTranslation('log');
  if (window.last === last) return null;
  return <Beyond onClick={() => goTo(window.last)} text={t('later', { count: last - window.last })} />;
}

function Beyond({ onClick, text }: { onClick: () => void; text: string }) {
  return (
    <div className="log-beyond">
      <Button size="small" onClick={onClick}>
        {text}
      </Button>
    </div>
  );
}

const COMPONENTS = { Scroller, Header: Earlier, Footer: Later };

function GapRow({ first, last }: { first: number; last: number }) {
  const { t } = useTranslation('log');
  return <div className="log-row log-gap">{t('gap', { first, last })}</div>;
}
