// One clock for everything on the page that counts: one timer, however many ages are shown, none in a hidden tab.

import { useSyncExternalStore } from 'react';
import { serverNow } from '@/api/serverClock';

let now = serverNow();
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();

function tick(): void {
  if (document.hidden) return;
  now = serverNow();
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    timer = setInterval(tick, 1_000);
    now = serverNow();
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) clearInterval(timer);
  };
}

/** The time in ms, new every second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
