// What a process of `orth up` may be asked for in each of its states.

import type { BadgeLook } from '@/parts/Badge';

export type ProcessDeed = 'start' | 'stop' | 'restart';

const WISHES = {
  Waiting: ['stop'],
  Starting: ['stop', 'restart'],
  Running: ['stop', 'restart'],
  Idle: ['stop', 'restart'],
  Busy: ['stop', 'restart'],
  Draining: [],
  Stopping: [],
  Stopped: ['start'],
  Crashed: ['start', 'stop'],
} as const satisfies Record<string, readonly ProcessDeed[]>;

export type ProcessState = keyof typeof WISHES;

const LOOKS: Record<ProcessState, BadgeLook> = {
  Waiting: { colour: 'gray', icon: '○' },
  Starting: { colour: 'blue', icon: '◐' },
  Running: { colour: 'green', icon: '●' },
  Idle: { colour: 'green', icon: '●' },
  Busy: { colour: 'teal', icon: '◉' },
  Draining: { colour: 'orange', icon: '◑' },
  Stopping: { colour: 'orange', icon: '◑' },
  Stopped: { colour: 'gray', icon: '■' },
  Crashed: { colour: 'red', icon: '✕' },
};

/** The state, if this version knows it. */
export function stateOf(text: string): ProcessState | null {
  return Object.hasOwn(WISHES, text) ? (text as ProcessState) : null;
}

/** What makes sense to ask for; of a state nobody knows, everything. */
export function wishesFor(text: string): readonly ProcessDeed[] {
  const state = stateOf(text);
  return state ? WISHES[state] : ['start', 'stop', 'restart'];
}

export function lookOf(state: ProcessState | null): BadgeLook {
  return state ? LOOKS[state] : { colour: 'gray', icon: '○' };
}
