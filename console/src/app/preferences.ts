// What a person chose. The server keeps it with them, so that it is the same in every browser; local storage has a
// copy, so that a page looks right before anybody is known, and the same in every tab. What was chosen and could not be
// sent is sent when they are next signed in here. Who signs in after somebody else begins with their own.

import { useCallback, useSyncExternalStore } from 'react';
import { firstSpoken, LANGUAGES, type Language } from '@/i18n/languages';
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
  timelineRows: 'job' | 'executor' | 'owner' | 'group' | 'tag';
  views: readonly SavedView[];
}

type Name = keyof Preferences;
export type Chosen = Partial<Preferences>;

interface Kept extends Chosen {
  /** Whose they are; unset until somebody has signed in. */
  of?: string;
  /** What the server does not know yet. */
  unsent?: Name[];
}

const isText = (value: unknown) => typeof value === 'string';
const isOneOf =
  (...choices: readonly string[]) =>
  (value: unknown) =>
    choices.some((one) => one === value);

/** What each may be. Another version of the console, or another program, may have kept something else under its name. */
const FITS: Record<Name, (value: unknown) => boolean> = {
  theme: isOneOf('system', 'light', 'dark'),
  language: isOneOf(...LANGUAGES),
  zone: (value) => isText(value) && isZone(value as string),
  density: isOneOf('middle', 'small'),
  landing: isPath,
  logWrap: (value) => typeof value === 'boolean',
  logStamps: isOneOf('full', 'seconds', 'relative', 'off'),
  timelineHours: isOneOf('1', '6', '24'),
  timelineRows: isOneOf('job', 'executor', 'owner', 'group', 'tag'),
  views: (value) => Array.isArray(value) && value.every(isView),
};

function isView(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const { page, name, search } = value as Record<string, unknown>;
  return isPath(page) && [name, search].every(isText);
}

/** Inside the console: neither another scheme nor another host. */
function isPath(value: unknown): boolean {
  return typeof value === 'string' && /^\/(?![/\\])/.test(value);
}

function isZone(name: string): boolean {
  if (name === 'browser') return true;
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }));
  } catch {
    return false;
  }
}

const isName = (name: string): name is Name => Object.hasOwn(FITS, name);

/** What of it this page understands. */
function understood(values: Record<string, unknown>): Chosen {
  return Object.fromEntries(Object.entries(values).filter(([name, value]) => isName(name) && FITS[name](value)));
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

function read(): Kept {
  try {
    const { of, unsent, ...values } = JSON.parse(localStorage.getItem(KEY) ?? '{}') ?? {};
    return {
      ...understood(values),
      ...(typeof of === 'string' && { of }),
      unsent: Array.isArray(unsent) ? unsent.filter(isName) : [],
    };
  } catch {
    return {};
  }
}

let kept = read();
let current: Preferences = { ...defaults(), ...kept };
/** Takes what was chosen to the server; null while nobody is signed in. */
let send: ((chosen: Chosen) => Promise<void>) | null = null;
let sending = false;

function keep(now: Kept): void {
  kept = now;
  current = { ...defaults(), ...now };
  try {
    localStorage.setItem(KEY, JSON.stringify(now));
  } catch {
    // A browser that keeps nothing still has it for this tab.
  }
  for (const listener of listeners) listener();
}

window.addEventListener('storage', (event) => {
  if (event.key !== KEY) return;
  kept = read();
  current = { ...defaults(), ...kept };
  for (const listener of listeners) listener();
});

/** Somebody has signed in: what they chose, here and elsewhere, is what counts from now on. */
export function adopt(name: string, chosen: Record<string, unknown>, by: (chosen: Chosen) => Promise<void>): void {
  const mine = kept.of === undefined || kept.of === name;
  const unsent = mine ? (kept.unsent ?? []) : [];
  // What the page was shown in until now stays, unless they chose something else.
  const before: Chosen = mine ? kept : { theme: current.theme, language: current.language };
  const known = Object.entries(understood(chosen)).filter(([one]) => !unsent.includes(one as Name));
  send = by;
  keep({ ...before, ...Object.fromEntries(known), of: name, unsent });
  void sendUnsent();
}

/** Nobody is signed in any more. */
export function release(): void {
  send = null;
}

/** After each wait it may be another one, or none. */
const sender = () => send;

async function sendUnsent(): Promise<void> {
  if (sending) return;
  sending = true;
  try {
    for (let to = sender(); to && kept.unsent?.length; to = sender()) {
      const chosen: Chosen = Object.fromEntries(kept.unsent.map((name) => [name, current[name]]));
      await to(chosen);
      // What was chosen anew meanwhile is another value.
      const still = (kept.unsent ?? []).filter((name) => chosen[name] !== current[name]);
      keep({ ...kept, unsent: still });
    }
  } catch {
    // It is sent with what is chosen next, or when the page is opened again.
  } finally {
    sending = false;
  }
}

export function preference<K extends Name>(name: K): Preferences[K] {
  return current[name];
}

export function choose<K extends Name>(name: K, value: Preferences[K]): void {
  keep({ ...kept, [name]: value, unsent: [...new Set([...(kept.unsent ?? []), name])] });
  void sendUnsent();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function usePreference<K extends Name>(name: K): [Preferences[K], (value: Preferences[K]) => void] {
  const value = useSyncExternalStore(subscribe, () => current[name]);
  return [value, useCallback((chosen: Preferences[K]) => choose(name, chosen), [name])];
}
