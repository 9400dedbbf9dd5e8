// A coordinator searches few logs at a time, and fewer for one person: who comes too early waits for a turn. A search that
// the page gave up itself counts until the server has noticed.

import { Problem } from '@/api/problem';

/** Milliseconds between one try and the next: together longer than the server looks before it answers. */
const WAITS = [200, 400, 800, 1_600, 3_200, 6_400];

/** What `ask` comes to, once there is room for it. */
export async function inTurn<T>(ask: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (const wait of WAITS) {
    try {
      return await ask();
    } catch (error) {
      if (!isFull(error) || signal.aborted) throw error;
    }
    await pause(wait, signal);
  }
  return ask();
}

function isFull(error: unknown): boolean {
  return error instanceof Problem && (error.code === 'searches_full' || error.code === 'own_searches_full');
}

function pause(wait: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', leave);
      resolve();
    }, wait);
    signal.addEventListener('abort', leave, { once: true });
  });
}
