// What keeps a list of lines in its place while the log grows, folds and is jumped through.

import { type RefObject, useCallback, useLayoutEffect, useRef, useState } from 'react';
import type { ListRange, VirtuosoHandle } from 'react-virtuoso';
import { grown, type Rows, type Window, windowAround } from '@/parts/log/rows';

/** The part of the log that is laid out; it follows the end, and moves to where one goes. */
export function useWindow(last: number, size: number, startAt: number | null, following: boolean) {
  const [window, setWindow] = useState(() => windowAround(startAt ?? last, last, size));
  const current = nextWindow(window, last, size, following);
  if (current !== window) setWindow(current);
  const move = useCallback(
    (line: number) => setWindow((now) => (line > now.first && line < now.last ? now : windowAround(line, last, size))),
    [last, size],
  );
  return { window: current, move };
}

function nextWindow(window: Window, last: number, size: number, following: boolean): Window {
  if (last <= window.last) return window;
  const full = window.last - window.first + 1 >= size;
  if (!full) return grown(window, last, size);
  return following ? windowAround(last, last, size) : window;
}

/** When lines fold or come above what is in view, what is in view stays where it is. */
export function useSteadyRows(
  rows: Rows,
  range: RefObject<ListRange>,
  list: RefObject<VirtuosoHandle | null>,
  following: boolean,
): void {
  const before = useRef(rows);
  useLayoutEffect(() => {
    const line = before.current.lineAt(range.current.startIndex);
    before.current = rows;
    const row = rows.rowOf(line);
    if (row !== range.current.startIndex && !following) list.current?.scrollToIndex({ index: row, align: 'start' });
  }, [rows, range, list, following]);
}

const ARRIVED_WITHIN = 80;
const TRIES = 10;

/** Goes to a line once the rows that hold it are there, and to the end when that is to be followed. A list that is
 * still finding its first place does not hear where it is sent: so it is looked whether it came there.
 */
export function useJumps(
  rows: Rows,
  range: RefObject<ListRange>,
  list: RefObject<VirtuosoHandle | null>,
  following: boolean,
) {
  const [wish, setWish] = useState<{ line: number; tries: number } | null>(null);
  useLayoutEffect(() => {
    if (!wish) return;
    const row = rows.rowOf(wish.line);
    list.current?.scrollToIndex({ index: row, align: 'center' });
    const timer = setTimeout(() => {
      const { startIndex, endIndex } = range.current;
      const there = startIndex <= row && row <= endIndex;
      setWish(there || wish.tries >= TRIES ? null : { ...wish, tries: wish.tries + 1 });
    }, ARRIVED_WITHIN);
    return () => clearTimeout(timer);
  }, [wish, rows, range, list]);
  useLayoutEffect(() => {
    if (following) list.current?.scrollToIndex({ index: 'LAST', align: 'end' });
  }, [following, list]);
  return useCallback((line: number) => setWish({ line, tries: 1 }), []);
}

const INPUTS = ['wheel', 'touchmove', 'keydown', 'pointerdown'] as const;
/** So long after an input, in ms, the list is scrolled by it and not by itself. */
const BY_INPUT = 500;

/** Hears that somebody scrolls up: following never does. `output` is what the list is to do about new lines.
 *
 * The list goes to a new line in the frame after that came, and what React is told is not told to the list at once. So
 * a step to the end may come just after somebody scrolled away from there: it is undone, and is no wish to follow.
 */
export function useScrollWatch(following: boolean, onFollow: (following: boolean) => void) {
  const stop = useRef<(() => void) | null>(null);
  const list = useRef<HTMLElement | null>(null);
  const left = useRef(false);
  const leaving = useRef(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was said is known once it is here again
  useLayoutEffect(() => {
    left.current = false;
  }, [following]);
  const scroller = useCallback(
    (element: HTMLElement | null | globalThis.Window) => {
      stop.current?.();
      stop.current = null;
      list.current = element instanceof HTMLElement ? element : null;
      if (!(element instanceof HTMLElement)) return;
      let { scrollTop: top, scrollHeight: height } = element;
      let inputAt = Number.NEGATIVE_INFINITY;
      const onInput = () => {
        inputAt = performance.now();
      };
      const onScroll = () => {
        const wasTop = top;
        const up = element.scrollTop < top - 2 && element.scrollHeight >= height;
        ({ scrollTop: top, scrollHeight: height } = element);
        if (up && performance.now() - inputAt < BY_INPUT) {
          left.current = true;
          leaving.current += 1;
          afterTwoFrames(() => {
            leaving.current -= 1;
          });
        } else if (leaving.current > 0 && top > wasTop && beyond(element) < 4) {
          element.scrollTop = wasTop;
        }
        if (up) onFollow(false);
      };
      element.addEventListener('scroll', onScroll, { passive: true });
      for (const input of INPUTS) element.addEventListener(input, onInput, { passive: true });
      stop.current = () => {
        element.removeEventListener('scroll', onScroll);
        for (const input of INPUTS) element.removeEventListener(input, onInput);
      };
    },
    [onFollow],
  );
  const output = useCallback(() => (following && !left.current ? 'auto' : false), [following]);
  /** A list that has just come says so before its lines are there. */
  const atEnd = useCallback(() => {
    const element = list.current;
    if (leaving.current > 0 || !element) return;
    afterTwoFrames(() => {
      // Lines may have come meanwhile.
      const near = beyond(element) < element.clientHeight;
      if (near && list.current === element && leaving.current === 0) onFollow(true);
    });
  }, [onFollow]);
  return { scroller, output, atEnd };
}

/** How much is below what is in view, in pixels. */
function beyond(element: HTMLElement): number {
  return element.scrollHeight - element.scrollTop - element.clientHeight;
}

function afterTwoFrames(callback: () => void): void {
  requestAnimationFrame(() => requestAnimationFrame(callback));
}
