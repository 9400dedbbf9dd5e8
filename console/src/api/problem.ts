// Errors as the API tells them (RFC 9457): what is wrong, what to do next, and which field it is about.

import type { components } from '@/api/schema';

export type ProblemBody = components['schemas']['Problem'];

export class Problem extends Error {
  readonly status: number;
  readonly kind: string;
  readonly hint: string | undefined;
  readonly errors: NonNullable<ProblemBody['errors']>;
  /** What it is, for programs, and the facts of its sentence: it can be said in another language. */
  readonly code: string | undefined;
  readonly facts: Record<string, string | number>;

  constructor(body: ProblemBody) {
    super(body.detail);
    this.name = 'Problem';
    this.status = body.status;
    this.kind = body.type.replace('urn:orth:problem:', '');
    this.hint = body.hint ?? undefined;
    this.errors = body.errors ?? [];
    this.code = body.code ?? undefined;
    this.facts = body.facts ?? {};
  }
}

/** Whether what was asked for is not there, or not to be seen. That is so from now on, whatever was read before. */
export function isGone(error: unknown): boolean {
  return error instanceof Problem && error.status === 404;
}

/** The problem an answer is; also when a proxy answered in the server's place, with something else. */
export function problemOf(status: number, statusText: string, body: unknown): Problem {
  if (isProblem(body)) return new Problem(body);
  return new Problem({
    type: 'urn:orth:problem:unreadable',
    title: 'Unreadable',
    status,
    detail: `${status} ${statusText}`.trim(),
  });
}

function isProblem(body: unknown): body is ProblemBody {
  return typeof body === 'object' && body !== null && 'detail' in body && 'type' in body && 'status' in body;
}

/** The server could not be asked at all. */
export class Unreachable extends Error {
  constructor() {
    super('Unreachable');
    this.name = 'Unreachable';
  }
}
