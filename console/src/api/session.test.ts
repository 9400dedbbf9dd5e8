import { QueryClient } from '@tanstack/react-query';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { api, got, whenForbidden, whenSessionEnds } from '@/api/client';
import { allows, allowsSomewhere, lookAtRights, type Rights, type Session, sessionQuery } from '@/api/session';
import { choose, preference } from '@/app/preferences';

const operatorOfSeven: Rights = { everywhere: null, inGroups: { 7: 'operator' } };

describe('rights', () => {
  it('of a role in one group hold in that group only', () => {
    expect(allows(operatorOfSeven, 'operate', 7)).toBe(true);
    expect(allows(operatorOfSeven, 'edit', 7)).toBe(false);
    expect(allows(operatorOfSeven, 'view', 8)).toBe(false);
    expect(allows(operatorOfSeven, 'view')).toBe(false);
    expect(allowsSomewhere(operatorOfSeven, 'operate')).toBe(true);
    expect(allowsSomewhere(operatorOfSeven, 'administer')).toBe(false);
  });

  it('of an administrator hold for everything', () => {
    expect(allows({ everywhere: 'admin', inGroups: {} }, 'administer')).toBe(true);
    expect(allows({ everywhere: 'viewer', inGroups: { 7: 'editor' } }, 'script', 7)).toBe(true);
  });
});

describe('rights that others change', () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  function signedIn(everywhere: 'operator' | 'viewer'): QueryClient {
    const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
    const ann: Session = { name: 'ann', rights: { everywhere, inGroups: {} } };
    queries.setQueryData(sessionQuery.queryKey, ann);
    queries.setQueryData(['jobs'], 'a list');
    return queries;
  }

  function answers(status: number, data?: object): void {
    vi.spyOn(api, 'GET').mockResolvedValue({ data, response: new Response(null, { status }) } as never);
  }

  const viewer = { username: 'ann', csrf_token: 'x', rights: { everywhere: 'viewer', in_groups: {} } };

  it('are asked for, and what is shown is looked at anew', async () => {
    const queries = signedIn('operator');
    answers(200, viewer);
    await lookAtRights(queries);
    expect(queries.getQueryData(sessionQuery.queryKey)?.rights).toEqual({ everywhere: 'viewer', inGroups: {} });
    expect(queries.getQueryState(['jobs'])?.isInvalidated).toBe(true);
  });

  it('leave everything as it is where they are the same', async () => {
    const queries = signedIn('viewer');
    choose('density', 'small');
    const before = queries.getQueryData(sessionQuery.queryKey);
    answers(200, { ...viewer, preferences: { density: 'middle' } });
    await lookAtRights(queries);
    expect(queries.getQueryData(sessionQuery.queryKey)).toBe(before);
    expect(queries.getQueryState(['jobs'])?.isInvalidated).toBe(false);
    expect(preference('density')).toBe('small');
  });

  it('of a session that is over are those it had, until somebody signs in again', async () => {
    const queries = signedIn('viewer');
    const over = vi.fn();
    const forget = whenSessionEnds(over);
    answers(401);
    await lookAtRights(queries);
    forget();
    expect(over).toHaveBeenCalledOnce();
    expect(queries.getQueryData(sessionQuery.queryKey)?.name).toBe('ann');
  });

  it('may be why something was refused', async () => {
    const told = vi.fn();
    const forget = whenForbidden(told);
    const refused = { error: {}, response: new Response('{}', { status: 403 }) };
    await expect(got(Promise.resolve(refused))).rejects.toThrow();
    forget();
    expect(told).toHaveBeenCalledOnce();
  });
});
