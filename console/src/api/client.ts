// The one way to the API. Types come from the OpenAPI document; whatever goes wrong is thrown as a Problem, or as
// Unreachable. The session is a cookie; unsafe methods also show the token that only our own pages know.

import createClient, { type Middleware } from 'openapi-fetch';
import { prefix } from '@/api/base';
import { Problem, problemOf, Unreachable } from '@/api/problem';
import type { paths } from '@/api/schema';
import { heardTime } from '@/api/serverClock';

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS']);

let csrfToken: string | null = null;
const lost = new Set<() => void>();
const refused = new Set<() => void>();
const sentAt = new WeakMap<Request, number>();

export function rememberCsrfToken(token: string | null): void {
  csrfToken = token;
}

/** Be told when the session has ended; gives back how to stop being told. */
export function whenSessionEnds(tell: () => void): () => void {
  lost.add(tell);
  return () => lost.delete(tell);
}

export function sessionEnded(): void {
  for (const tell of lost) tell();
}

/** Be told when something was refused that the page had offered; gives back how to stop being told. */
export function whenForbidden(tell: () => void): () => void {
  refused.add(tell);
  return () => refused.delete(tell);
}

const middleware: Middleware = {
  onRequest({ request }) {
    request.headers.set('Orth-Client', 'console');
    if (csrfToken && !SAFE.has(request.method)) request.headers.set('X-CSRF-Token', csrfToken);
    sentAt.set(request, Date.now());
    return request;
  },
  onResponse({ request, response }) {
    const [date, sent] = [Date.parse(response.headers.get('Date') ?? ''), sentAt.get(request)];
    if (sent !== undefined && !Number.isNaN(date)) heardTime({ date, sent, received: Date.now() });
    return response;
  },
  onError() {
    return new Unreachable();
  },
};

export const api = createClient<paths>({ baseUrl: prefix.replace(/\/$/, ''), credentials: 'same-origin' });
api.use(middleware);

export interface Answered<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** What was asked for, or the reason why not. When the session has ended, one is asked to sign in again. */
export async function got<T>(asking: Promise<Answered<T>>): Promise<T> {
  const { data, error, response } = await asking;
  if (response.ok) return data as T;
  const problem = problemOf(response.status, response.statusText, error);
  if (problem.status === 401) sessionEnded();
  if (problem.status === 403) for (const tell of refused) tell();
  throw problem;
}

/** For queries: what may be different a moment later is asked again, what was refused is not. */
export function worthAsking(failures: number, error: unknown): boolean {
  if (error instanceof Problem) return failures < 2 && (error.status === 429 || error.status >= 500);
  return failures < 2;
}
