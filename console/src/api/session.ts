// Who is signed in and what they may do. Only what is allowed is offered; the server decides all the same.

import { type Query, type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { useCallback } from 'react';
import { type Answered, api, got, rememberCsrfToken, sessionEnded } from '@/api/client';
import { problemOf } from '@/api/problem';
import { tellTabs } from '@/api/tabs';
import type { BrowserSession, Role } from '@/api/types';
import { adopt, type Chosen, release } from '@/app/preferences';

export type Permission = 'view' | 'operate' | 'edit' | 'script' | 'administer';

const GRANTED: Record<Role, readonly Permission[]> = {
  viewer: ['view'],
  operator: ['view', 'operate'],
  editor: ['view', 'operate', 'edit', 'script'],
  admin: ['view', 'operate', 'edit', 'script', 'administer'],
};

export interface Rights {
  everywhere: Role | null;
  inGroups: Record<string, Role>;
}

/** Whether somebody may do it in a group; without one, to what belongs to no group. */
export function allows(rights: Rights, permission: Permission, group?: number): boolean {
  if (rights.everywhere && GRANTED[rights.everywhere].includes(permission)) return true;
  const role = group === undefined ? undefined : rights.inGroups[String(group)];
  return role !== undefined && GRANTED[role].includes(permission);
}

export function allowsSomewhere(rights: Rights, permission: Permission): boolean {
  const groups = Object.keys(rights.inGroups).map(Number);
  return allows(rights, permission) || groups.some((group) => allows(rights, permission, group));
}

export interface Session {
  name: string;
  rights: Rights;
  /** What was asked for after it was given can be trusted as far as the live line, opened with it, says nothing else. */
  mark?: string | null;
  /** It is over on the server. Who it was is still known, so that they can go on where they were. */
  ended?: true;
  /** Who has signed in instead, in another tab of this browser: what is sent from here on is sent in their name. */
  other?: string;
}

function sessionOf({ username, csrf_token, rights, preferences, changes_mark }: BrowserSession): Session {
  rememberCsrfToken(csrf_token);
  adopt(username, preferences ?? {}, keepChosen);
  tellTabs(username);
  return {
    name: username,
    rights: rightsOf(rights),
    mark: changes_mark ?? null,
  };
}

function rightsOf({ everywhere, in_groups }: BrowserSession['rights']): Rights {
  return { everywhere, inGroups: in_groups };
}

async function keepChosen(chosen: Chosen): Promise<void> {
  await got(api.PATCH('/api/v1/auth/preferences', { body: { chosen } }));
}

/** The session, or null when nobody is signed in. */
export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: async (): Promise<Session | null> => {
    const { data, error, response } = await api.GET('/api/v1/auth/session');
    if (response.status === 401) return null;
    if (data) return sessionOf(data);
    throw problemOf(response.status, response.statusText, error);
  },
  staleTime: Number.POSITIVE_INFINITY,
});

/** How people may sign in here. */
export const waysQuery = queryOptions({
  queryKey: ['session', 'ways'],
  queryFn: () => got(api.GET('/api/v1/auth/ways')),
  staleTime: Number.POSITIVE_INFINITY,
});

export function useSession(): Session | null | undefined {
  return useQuery(sessionQuery).data;
}

/** A test of rights for the person who is signed in. */
export function useMay(): (permission: Permission, group?: number) => boolean {
  const session = useSession();
  return useCallback(
    (permission: Permission, group?: number) => !!session && allows(session.rights, permission, group),
    [session],
  );
}

/** The same for what they may do in any group at all. */
export function useMaySomewhere(): (permission: Permission) => boolean {
  const session = useSession();
  return useCallback((permission: Permission) => !!session && allowsSomewhere(session.rights, permission), [session]);
}

export async function signIn(queries: QueryClient, username: string, password: string): Promise<void> {
  begin(queries, await signedInBy(api.POST('/api/v1/auth/session', { body: { username, password } })));
}

/** Sign in by the one-time link that a first start or `orth login --link` printed. */
export async function signInByLink(queries: QueryClient, token: string): Promise<void> {
  begin(queries, await signedInBy(api.POST('/api/v1/auth/link', { body: { token } })));
}

/** Go on if they are signed in all the same: in another tab, or before the last answer came. Nothing is taken from them
 * for somebody else who is. */
export async function signedInElsewhere(queries: QueryClient): Promise<void> {
  const { data } = await api.GET('/api/v1/auth/session');
  if (data && !markOther(queries, data)) begin(queries, data);
}

/** Go on as whoever is signed in, with a page of their own. */
export async function goOnAsOther(queries: QueryClient): Promise<void> {
  begin(queries, await got(api.GET('/api/v1/auth/session')));
}

export async function signOut(queries: QueryClient): Promise<void> {
  await got(api.POST('/api/v1/auth/logout'));
  leave(queries);
}

/** Nobody is signed in here any more, and nothing of what they were shown is kept. */
export function leave(queries: QueryClient): void {
  rememberCsrfToken(null);
  release();
  queries.setQueryData(sessionQuery.queryKey, null);
  forgetAnswers(queries);
}

/** The server has ended the session. What is on the page stays, for the same person may sign in again. */
export function markEnded(queries: QueryClient): void {
  queries.setQueryData(sessionQuery.queryKey, (before) => before && { ...before, ended: true as const });
}

/** Cover what one person has for another one, who signed in in this browser: whether somebody did. */
function markOther(queries: QueryClient, { username }: BrowserSession): boolean {
  const before = queries.getQueryData(sessionQuery.queryKey);
  if (!before || before.name === username) return false;
  const covered: Session = { ...before, ended: true, other: username };
  queries.setQueryData(sessionQuery.queryKey, covered);
  return true;
}

/** Who signs in again goes on with what they had, looked at anew; nobody gets what another person was shown. */
function begin(queries: QueryClient, me: BrowserSession): void {
  const before = queries.getQueryData(sessionQuery.queryKey);
  const session = sessionOf(me);
  const same = before?.name === session.name;
  if (!same) forgetAnswers(queries);
  queries.setQueryData(sessionQuery.queryKey, session);
  if (same) void queries.invalidateQueries({ predicate: isShown });
}

/** What pages show; who one is, is looked at apart. */
export function isShown({ queryKey }: Pick<Query, 'queryKey'>): boolean {
  return queryKey[0] !== sessionQuery.queryKey[0];
}

let looking: Promise<boolean> | null = null;

/** Ask what they may, which others can change at any time. As long as it is the same nothing is touched; otherwise what
 * is offered follows, and what is shown is looked at anew. Whether the server said so. */
export function lookAtRights(queries: QueryClient): Promise<boolean> {
  looking ??= asked(queries).finally(() => {
    looking = null;
  });
  return looking;
}

async function asked(queries: QueryClient): Promise<boolean> {
  const before = queries.getQueryData(sessionQuery.queryKey);
  if (!before || before.ended) return false;
  const answer = await api.GET('/api/v1/auth/session').catch(() => null); // who is away has changed nothing
  if (answer?.response.status === 401) sessionEnded();
  if (!answer?.data) return false;
  if (markOther(queries, answer.data)) return false;
  if (!sameRights(rightsOf(answer.data.rights), before.rights)) begin(queries, answer.data);
  return true;
}

function sameRights(one: Rights, other: Rights): boolean {
  const groups = Object.keys({ ...one.inGroups, ...other.inGroups });
  return one.everywhere === other.everywhere && groups.every((id) => one.inGroups[id] === other.inGroups[id]);
}

function forgetAnswers(queries: QueryClient): void {
  queries.removeQueries({ predicate: ({ queryKey: [subject, ...more] }) => subject !== 'session' || more.length > 0 });
}

/** A refusal here is a wrong password, not a session that ended: nobody is sent to the page they are on. */
async function signedInBy(asking: Promise<Answered<BrowserSession>>): Promise<BrowserSession> {
  const { data, error, response } = await asking;
  if (data) return data;
  throw problemOf(response.status, response.statusText, error);
}
