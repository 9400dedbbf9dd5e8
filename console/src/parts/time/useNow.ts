// One clock for everything on the page that counts: one timer, however many ages are shown, none in a hidden tab. It ticks
// when a second begins, as fires do: a countdown that ticks between two of them is wrong by two.

import { useSyncExternalStore } from 'react';
import { serverNow } from '@/api/serverClock';

let now = serverNow();
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();

const SECOND = 1_000;

function wait(): void {
  timer = setTimeout(tick, SECOND - (serverNow() % SECOND));
}

function tick(): void {
  wait();
  if (document.hidden) return;
  now = serverNow();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    wait();
    now = serverNow();
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearTimeout(timer);
  };
}

/** The time in ms, new every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
