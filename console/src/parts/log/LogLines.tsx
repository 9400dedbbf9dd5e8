// The lines of a log, of which only those in view are on the page.

import { Button } from 'antd';
import {
  type Ref,
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { useTranslation } from 'react-i18next';
import { type ListRange, Virtuoso, type VirtuosoHandle } from 'react-virtuoso';
import type { Log } from '@/parts/log/Log';
import { LogRow } from '@/parts/log/LogRow';
import {
  grown,
  LINE_HEIGHT,
  Rows,
  WINDOW_LINES,
  type Window,
  WRAPPED_WINDOW_LINES,
  windowAround,
} from '@/parts/log/rows';
import { Scroller } from '@/parts/log/Scroller';

export interface LinesHandle {
  goTo: (line: number) => void;
  firstInView: () => number;
}

interface Props {
  ref: Ref<LinesHandle>;
  log: Log;
  label: string;
  wrap: boolean;
  stamp: ((at: number) => string) | undefined;
  search: RegExp | null;
  following: boolean;
  /** Somebody scrolled away from the end, or back to it. */
  onFollow: (following: boolean) => void;
  /** The line one was led to by a link or a search. */
  marked: number | null;
  startAt: number | null;
  hrefOf: (line: number) => string;
  onNumber: (line: number) => void;
  onWhole: (line: number) => void;
}

const AROUND = 60;

export function LogLines(props: Props) {
  const { log, wrap, following, marked, startAt, onFollow } = props;
  const { book } = log;
  const list = useRef<VirtuosoHandle>(null);
  const range = useRef<ListRange>({ startIndex: 0, endIndex: 0 });
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const { window, move } = useWindow(book.last, wrap ? WRAPPED_WINDOW_LINES : WINDOW_LINES, startAt, following);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the book changes inside; its version says so
  const rows = useMemo(
    () => new Rows(window, book.hidden(opened, marked)),
    [window, book, book.foldsVersion, opened, marked],
  );
  useSteadyRows(rows, range, list, following);

  const look = useCallback(
    (seen: ListRange) => {
      range.current = seen;
      log.reader.want(rows.lineAt(seen.startIndex) - AROUND, rows.lineAt(seen.endIndex) + AROUND);
    },
    [log, rows],
  );
  useEffect(() => look(range.current), [look]);

  useLayoutEffect(() => {
    if (following && rows.count > 0) list.current?.scrollToIndex({ index: rows.count - 1, align: 'end' });
  }, [following, rows]);

  const [wish, setWish] = useState<{ line: number } | null>(null);
  useLayoutEffect(() => {
    if (!wish) return;
    list.current?.scrollToIndex({ index: rows.rowOf(wish.line), align: 'center' });
    setWish(null);
  }, [wish, rows]);
  useImperativeHandle(props.ref, () => ({
    goTo: (line) => {
      move(line);
      setWish({ line });
    },
    firstInView: () => rows.lineAt(range.current.startIndex),
  }));

  const onFold = useCallback((head: number) => setOpened((before) => toggled(before, head)), []);
  const scroller = useScrollWatch(onFollow);
  const [first] = useState(() => (startAt === null ? rows.count - 1 : rows.rowOf(startAt)));
  return (
    <Virtuoso
      key={wrap ? 'wrapped' : 'straight'}
      ref={list}
      className={wrap ? 'log-lines log-wrapped' : 'log-lines'}
      scrollerRef={scroller}
      totalCount={rows.count}
      {...(!wrap && { fixedItemHeight: LINE_HEIGHT })}
      defaultItemHeight={LINE_HEIGHT}
      increaseViewportBy={300}
      initialTopMostItemIndex={{ index: Math.max(0, first), align: startAt === null ? 'end' : 'center' }}
      rangeChanged={look}
      atBottomStateChange={(atEnd) => atEnd && window.last === book.last && onFollow(true)}
      context={{ label: props.label, window, last: book.last, move }}
      components={COMPONENTS}
      computeItemKey={(row) => rows.lineAt(row)}
      itemContent={(row) => {
        const number = rows.lineAt(row);
        const gap = book.gapAt(number);
        if (gap) return <GapRow first={gap.first} last={gap.last} />;
        const fold = book.foldAt(number);
        const inside = marked !== null && fold && fold.first <= marked && marked <= fold.last;
        return (
          <LogRow
            number={number}
            href={props.hrefOf(number)}
            line={book.line(number)}
            stamp={props.stamp}
            search={props.search}
            marked={number === marked}
            found={false}
            {...(fold && !inside && { fold, folded: !opened.has(number), onFold })}
            onNumber={props.onNumber}
            onWhole={props.onWhole}
          />
        );
      }}
    />
  );
}

interface ListContext {
  label: string;
  window: Window;
  last: number;
  move: (line: number) => void;
}

/** A button where a log goes on that is longer than a page can be. */
function Earlier({ context: { window, move } }: { context: ListContext }) {
  const { t } = useTranslation('log');
  if (window.first === 1) return null;
  return <Beyond onClick={() => move(window.first)} text={t('earlier', { count: window.first - 1 })} />;
}

function Later({ context: { window, last, move } }: { context: ListContext }) {
  const { t } = useTranslation('log');
  if (window.last === last) return null;
  return <Beyond onClick={() => move(window.last)} text={t('later', { count: last - window.last })} />;
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

function toggled(before: ReadonlySet<number>, one: number): ReadonlySet<number> {
  const after = new Set(before);
  if (!after.delete(one)) after.add(one);
  return after;
}

/** The part of the log that is laid out; it follows the end, and moves to where one goes. */
function useWindow(last: number, size: number, startAt: number | null, following: boolean) {
  const [window, setWindow] = useState(() => windowAround(startAt ?? last, last, size));
  const full = window.last - window.first + 1 >= size;
  let current = window;
  if (last > window.last && !full) current = grown(window, last, size);
  else if (following && last > window.last) current = windowAround(last, last, size);
  if (current.last - current.first + 1 > size) current = windowAround(startAt ?? last, last, size);
  if (current !== window) setWindow(current);
  const move = useCallback(
    (line: number) => setWindow((now) => (line > now.first && line < now.last ? now : windowAround(line, last, size))),
    [last, size],
  );
  return { window: current, move };
}

/** When lines fold or move above what is in view, what is in view stays where it is. */
function useSteadyRows(
  rows: Rows,
  range: { current: ListRange },
  list: { current: VirtuosoHandle | null },
  following: boolean,
): void {
  const before = useRef(rows);
  useLayoutEffect(() => {
    const line = before.current.lineAt(range.current.startIndex);
    const moved = rows.rowOf(line) - range.current.startIndex;
    before.current = rows;
    if (moved !== 0 && !following) list.current?.scrollToIndex({ index: rows.rowOf(line), align: 'start' });
  }, [rows, range, list, following]);
}

/** Hears that somebody scrolls up: following never does. */
function useScrollWatch(
  onFollow: (following: boolean) => void,
): (element: HTMLElement | null | globalThis.Window) => void {
  const watched = useRef<(() => void) | null>(null);
  return useCallback(
    (element) => {
      watched.current?.();
      watched.current = null;
      if (!(element instanceof HTMLElement)) return;
      let top = element.scrollTop;
      let height = element.scrollHeight;
      const onScroll = () => {
        if (element.scrollTop < top - 2 && element.scrollHeight >= height) onFollow(false);
        top = element.scrollTop;
        height = element.scrollHeight;
      };
      element.addEventListener('scroll', onScroll, { passive: true });
      watched.current = () => element.removeEventListener('scroll', onScroll);
    },
    [onFollow],
  );
}
