// What a person chose for this browser: kept in local storage, the same in every tab.

import { useCallback, useSyncExternalStore } from 'react';
import { firstSpoken, type Language } from '@/i18n/languages';
import type { SavedView } from '@/parts/views/views';

export interface Preferences {
  theme: 'system' | 'light' | 'dark';
  language: Language;
  /** An IANA zone, or what the browser is set to. */
  zone: 'browser' | string;
  density: 'middle' | 'small';
  /** The page one starts with. */
  landing: string;
  logWrap: boolean;
  logStamps: 'full' | 'seconds' | 'relative' | 'off';
  timelineHours: '1' | '6' | '24';
  timelineRows: 'job' | 'executor' | 'owner' | 'group';
  views: readonly SavedView[];
}

const KEY = 'orth.preferences';
const listeners = new Set<() => void>();

function defaults(): Preferences {
  return {
    theme: 'system',
    language: firstSpoken(navigator.languages),
    zone: 'browser',
    density: 'middle',
    landing: '/',
    logWrap: false,
    logStamps: 'seconds',
    timelineHours: '1',
    timelineRows: 'job',
    views: [],
  };
}

function read(): Preferences {
  try {
    return { ...defaults(), ...JSON.parse(localStorage.getItem(KEY) ?? '{}') };
  } catch {
    return defaults();
  }
}

let current = read();

function announce(): void {
  for (const listener of listeners) listener();
}

window.addEventListener('storage', (event) => {
  if (event.key !== KEY) return;
  current = read();
  announce();
});

export function preference<K extends keyof Preferences>(name: K): Preferences[K] {
  return current[name];
}

export function choose<K extends keyof Preferences>(name: K, value: Preferences[K]): void {
  current = { ...current, [name]: value };
  try {
    localStorage.setItem(KEY, JSON.stringify(current));
  } catch {
    // A browser that keeps nothing still has it for this tab.
  }
  announce();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePreference<K extends keyof Preferences>(name: K): [Preferences[K], (value: Preferences[K]) => void] {
  const value = useSyncExternalStore(subscribe, () => current[name]);
  return [value, useCallback((chosen: Preferences[K]) => choose(name, chosen), [name])];
}
