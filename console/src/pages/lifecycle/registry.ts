// Services as the registry's events make them: a pure state, so that what the page shows can be tested without one.
// A beat is no event: its age comes from lists, which are asked for quietly, and counts on this browser's clock.

import type { Agent, Orchestrator, ServiceStatus } from '@/api/types';
import { type BeatRules, USUAL } from '@/parts/time/staleness';

export const KINDS = ['orchestrator', 'agent'] as const;
export type Kind = (typeof KINDS)[number];
export const HAPPENINGS = ['registered', 'unregistered', 'status_changed'] as const;
export type Happening = (typeof HAPPENINGS)[number];

/** How often the lists are asked for, in ms. */
export const ASK_EVERY = 10_000;

/** By what beats are judged: one is seen when the lists are asked for next, and not missed until then. */
export const BEATS: BeatRules = { ...USUAL, seenAfter: ASK_EVERY };

/** A service as an event shows it: as in the lists, without the age of its beat. */
export type Said = Omit<Orchestrator, 'beatAge'> & { orchestratorId?: string | null };

export interface Service extends Said {
  /** When it last beat, by this browser's clock. */
  beatAt: number;
  /** The number of the last event about it; 0 before the first that this page heard. */
  told: number;
}

export interface Told {
  seq: number;
  kind: Kind;
  happening: Happening;
  id: string;
  name: string;
  status: ServiceStatus;
  at: string;
}

export interface Registry {
  /** The number of the last event that is in here; null before the first list. */
  seq: number | null;
  services: Record<Kind, Record<string, Service>>;
  /** The newest first. */
  feed: readonly Told[];
}

export const NOTHING: Registry = { seq: null, services: { orchestrator: {}, agent: {} }, feed: [] };
export const FEED_KEPT = 30;

type Event = { type: string; seq: number; at: string; data: Said };
type Snapshot = { type: 'snapshot'; seq: number; at: string; data: { orchestrators: Said[]; agents: Said[] } };

/** What the socket said, taken in. Something that is already in here, or that is not understood, changes nothing. */
export function heard(before: Registry, message: unknown, now: number): Registry {
  if (!isEvent(message)) return before;
  if (message.type === 'snapshot') return replaced(before, message as unknown as Snapshot, now);
  const [kind, happening] = parts(message.type);
  if (!kind || !happening || (before.seq !== null && message.seq <= before.seq)) return before;
  const { data, seq, at } = message;
  const known = { ...before.services[kind] };
  if (happening === 'unregistered') delete known[data.id];
  else known[data.id] = { ...data, beatAt: beatOf(data, known[data.id], at, now), told: seq };
  const told: Told = { seq, kind, happening, id: data.id, name: data.name ?? data.url, status: data.status, at };
  return {
    seq,
    services: { ...before.services, [kind]: known },
    feed: [told, ...before.feed].slice(0, FEED_KEPT),
  };
}

/** A list that was asked for: it corrects ages, and whatever an event that was missed should have told. One that is
 * older than what was heard only corrects ages. */
export function listed(
  before: Registry,
  kind: Kind,
  list: readonly (Orchestrator | Agent)[],
  seq: number,
  now: number,
): Registry {
  const known = before.services[kind];
  const stale = before.seq !== null && seq < before.seq;
  const found: Record<string, Service> = stale ? { ...known } : {};
  for (const { beatAge, ...said } of list) {
    if (stale && !known[said.id]) continue;
    const was = known[said.id];
    found[said.id] = { ...(stale && was ? was : said), beatAt: now - beatAge * 1_000, told: was?.told ?? 0 };
  }
  return { ...before, services: { ...before.services, [kind]: found } };
}

export function rowsOf(registry: Registry, kind: Kind): Service[] {
  return Object.values(registry.services[kind]).sort((a, b) =>
    (a.name ?? a.url).localeCompare(b.name ?? b.url, undefined, { numeric: true }),
  );
}

function replaced(before: Registry, { data, seq, at }: Snapshot, now: number): Registry {
  const all = (kind: Kind, list: Said[]) =>
    Object.fromEntries(
      list.map((one) => {
        const was = before.services[kind][one.id];
        return [one.id, { ...one, beatAt: beatOf(one, was, at, now), told: was?.told ?? 0 }];
      }),
    );
  const services = { orchestrator: all('orchestrator', data.orchestrators), agent: all('agent', data.agents) };
  return { ...before, seq, services };
}

/** Both instants are the server's: their difference is right whatever this browser's clock says. */
function beatOf(said: Said, was: Service | undefined, at: string, now: number): number {
  if (was && was.lastHeartbeat === said.lastHeartbeat) return was.beatAt;
  return now - Math.max(0, Date.parse(at) - Date.parse(said.lastHeartbeat));
}

function parts(type: string): [Kind | undefined, Happening | undefined] {
  const kind = KINDS.find((one) => type.startsWith(`${one}_`));
  return [kind, HAPPENINGS.find((one) => type === `${kind}_${one}`)];
}

function isEvent(message: unknown): message is Event {
  return (
    typeof message === 'object' &&
    message !== null &&
    typeof (message as Event).type === 'string' &&
    typeof (message as Event).seq === 'number' &&
    typeof (message as Event).data === 'object'
  );
}
