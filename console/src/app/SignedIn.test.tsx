import { QueryClient, QueryClientProvider, useQuery } from '@tanstack/react-query';
import { act, cleanup, render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { MemoryRouter, Route, Routes, useLocation } from 'react-router';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import { api, got, sessionEnded } from '@/api/client';
import { leave, type Session, sessionQuery } from '@/api/session';
import { SignedIn } from '@/app/SignedIn';

const ANN: Session = { name: 'ann', rights: { everywhere: 'editor', inGroups: {} } };
const ANSWER = ['jobs', 'list'];
const EDITED = ['session', 'edited', 7];

/** A server on which anybody may sign in, and nobody is. */
function anybodyMaySignIn(): void {
  const nobody = { error: {}, response: new Response('{}', { status: 401 }) };
  vi.spyOn(api, 'GET').mockResolvedValue(nobody as never);
  vi.spyOn(api, 'POST').mockImplementation((async (_: string, { body }: { body: { username: string } }) => {
    const data = { username: body.username, csrf_token: 'x', rights: { everywhere: 'viewer', in_groups: {} } };
    return { data, response: Response.json(data) };
  }) as never);
}

/** A page with something typed in it, that shows what was answered before. */
function Work() {
  const answer = useQuery({ queryKey: ANSWER, queryFn: () => new Promise<string>(() => {}) });
  return (
    <>
      <textarea aria-label="work" />
      <output>{answer.data}</output>
    </>
  );
}

function Elsewhere() {
  return <output>{`to ${useLocation().state?.from}`}</output>;
}

function opened(session: Session | null, at = '/scripts/7'): QueryClient {
  const queries = new QueryClient({ defaultOptions: { queries: { staleTime: Number.POSITIVE_INFINITY } } });
  queries.setQueryData(sessionQuery.queryKey, session);
  if (session) queries.setQueryData(ANSWER, 'what ann may see');
  if (session) queries.setQueryData(EDITED, 'what ann edits');
  render(
    <QueryClientProvider client={queries}>
      <MemoryRouter initialEntries={[at]}>
        <Routes>
          <Route path="/login" element={<Elsewhere />} />
          <Route
            path="*"
            element={
              <SignedIn>
                <Work />
              </SignedIn>
            }
          />
        </Routes>
      </MemoryRouter>
    </QueryClientProvider>,
  );
  return queries;
}

async function signInAgain(name: string): Promise<void> {
  const field = await screen.findByLabelText('username');
  await userEvent.clear(field);
  await userEvent.type(field, name);
  await userEvent.type(screen.getByLabelText('password'), 'secret');
  await userEvent.click(screen.getByRole('button', { name: 'submit' }));
  await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
}

afterEach(cleanup);

describe('who is not signed in', () => {
  it('comes back to the very line they were going to', () => {
    opened(null, '/executions/3/log?wrap=1#L500000');
    expect(screen.getByText('to /executions/3/log?wrap=1#L500000')).toBeTruthy();
  });

  it('comes back to a page of the console, however many slashes a link began with', () => {
    opened(null, '//executions/5');
    expect(screen.getByText('to /executions/5')).toBeTruthy();
  });

  it('begins anew after somebody signed out', async () => {
    const queries = opened(ANN);
    act(() => leave(queries));
    expect(await screen.findByText('to undefined')).toBeTruthy();
  });
});

describe('a session that ends', () => {
  it('leaves the work of who signs in again as it is', async () => {
    anybodyMaySignIn();
    opened(ANN);
    await userEvent.type(screen.getByLabelText('work'), 'ten minutes of it');
    act(sessionEnded);
    expect((await screen.findByRole('dialog')).hasAttribute('open')).toBe(true);
    await signInAgain('ann');
    expect(screen.getByLabelText<HTMLTextAreaElement>('work').value).toBe('ten minutes of it');
    expect(screen.getByText('what ann may see')).toBeTruthy();
  });

  it('leaves nothing to another person', async () => {
    anybodyMaySignIn();
    const queries = opened(ANN);
    await userEvent.type(screen.getByLabelText('work'), 'not for gina');
    act(sessionEnded);
    await signInAgain('gina');
    expect(screen.getByLabelText<HTMLTextAreaElement>('work').value).toBe('');
    expect(screen.queryByText('what ann may see')).toBeNull();
    expect(queries.getQueryData(EDITED)).toBeUndefined();
  });

  it('can be left, and then nothing is kept', async () => {
    anybodyMaySignIn();
    const queries = opened(ANN);
    act(sessionEnded);
    await userEvent.click(await screen.findByRole('button', { name: 'again.leave' }));
    expect(await screen.findByText('to undefined')).toBeTruthy();
    expect(queries.getQueryData(ANSWER)).toBeUndefined();
  });
});

describe('somebody else who signs in in another tab', () => {
  const gina = { username: 'gina', csrf_token: 'x', rights: { everywhere: 'viewer', in_groups: {} }, ways: [] };
  const elsewhere = new BroadcastChannel('orth.session /');
  afterAll(() => elsewhere.close());

  function somebodyIsSignedIn(data: object): void {
    vi.spyOn(api, 'GET').mockResolvedValue({ data, response: Response.json(data) } as never);
  }

  it('covers the page at once, and its work stays for who began it', async () => {
    somebodyIsSignedIn(gina);
    opened(ANN);
    await userEvent.type(screen.getByLabelText('work'), 'ten minutes of it');
    elsewhere.postMessage('gina');
    expect(await screen.findByText('again.otherTitle')).toBeTruthy();
    somebodyIsSignedIn({ ...gina, username: 'ann' });
    elsewhere.postMessage('ann');
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    expect(screen.getByLabelText<HTMLTextAreaElement>('work').value).toBe('ten minutes of it');
  });

  it('goes on there only if that is wanted, without anything of theirs', async () => {
    somebodyIsSignedIn(gina);
    const queries = opened(ANN);
    await userEvent.type(screen.getByLabelText('work'), 'not for gina');
    elsewhere.postMessage('gina');
    await userEvent.click(await screen.findByRole('button', { name: 'again.asOther' }));
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
    expect(screen.getByLabelText<HTMLTextAreaElement>('work').value).toBe('');
    expect(queries.getQueryData(EDITED)).toBeUndefined();
    expect(queries.getQueryData(sessionQuery.queryKey)?.name).toBe('gina');
  });

  it('is seen also by who is refused something', async () => {
    somebodyIsSignedIn(gina);
    opened(ANN);
    await userEvent.type(screen.getByLabelText('work'), 'ten minutes of it');
    const refused = { error: {}, response: new Response('{}', { status: 403 }) };
    await act(() => got(Promise.resolve(refused)).catch(() => {}));
    expect(await screen.findByText('again.otherTitle')).toBeTruthy();
    expect(screen.getByLabelText<HTMLTextAreaElement>('work').value).toBe('ten minutes of it');
  });
});
