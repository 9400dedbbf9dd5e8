import { cleanup, fireEvent, renderHook } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { useScrollWatch } from '@/parts/log/useLines';

let frames: FrameRequestCallback[] = [];

beforeEach(() => {
  frames = [];
  vi.stubGlobal('requestAnimationFrame', (callback: FrameRequestCallback) => frames.push(callback));
});
afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
});

function nextFrame() {
  for (const callback of frames.splice(0)) callback(0);
}

/** A list of 1,000 pixels in a view of 100, at its end, that is followed. */
function followed() {
  const onFollow = vi.fn();
  const { result, rerender } = renderHook(({ following }) => useScrollWatch(following, onFollow), {
    initialProps: { following: true },
  });
  const element = document.createElement('div');
  Object.defineProperties(element, { scrollHeight: { value: 1_000 }, clientHeight: { value: 100 } });
  element.scrollTop = 900;
  result.current.scroller(element);
  const step = (top: number) => {
    element.scrollTop = top;
    fireEvent.scroll(element);
  };
  const scrollTo = (top: number) => {
    fireEvent.wheel(element);
    step(top);
  };
  return { element, onFollow, result, rerender, scrollTo, step };
}

it('ceases to follow at once when somebody scrolls up', () => {
  const { onFollow, result, scrollTo } = followed();
  expect(result.current.output()).toBe('auto');
  scrollTo(200);
  expect(onFollow).toHaveBeenCalledWith(false);
  expect(result.current.output()).toBe(false);
});

it('undoes a step to the end that was under way, and does not follow by it', () => {
  const { element, onFollow, result, scrollTo, step } = followed();
  scrollTo(200);
  nextFrame();
  onFollow.mockClear();
  step(900);
  result.current.atEnd();
  nextFrame();
  nextFrame();
  expect(element.scrollTop).toBe(200);
  expect(onFollow).not.toHaveBeenCalledWith(true);
});

it('follows again when somebody comes to the end later', () => {
  const { element, onFollow, result, rerender, scrollTo } = followed();
  scrollTo(200);
  rerender({ following: false });
  nextFrame();
  nextFrame();
  scrollTo(900);
  result.current.atEnd();
  nextFrame();
  nextFrame();
  expect(element.scrollTop).toBe(900);
  expect(onFollow).toHaveBeenLastCalledWith(true);
  rerender({ following: true });
  expect(result.current.output()).toBe('auto');
});

it('lets the list correct its own steps on the way to the end', () => {
  const { element, onFollow, result, step } = followed();
  step(880);
  step(900);
  result.current.atEnd();
  nextFrame();
  nextFrame();
  expect(element.scrollTop).toBe(900);
  expect(result.current.output()).toBe('auto');
  expect(onFollow).toHaveBeenLastCalledWith(true);
});

it('does not follow a list that has just come and is not at its end', () => {
  const { element, onFollow, result } = followed();
  element.scrollTop = 0;
  result.current.atEnd();
  nextFrame();
  nextFrame();
  expect(onFollow).not.toHaveBeenCalled();
});
