import type { APIRequestContext } from '@playwright/test';
import { expect, test } from './stage';

const ORCHESTRATORS = 'Orchestrators (coordinators)';

interface Session {
  cookies: { name: string; value: string }[];
}

test('who comes, changes and goes is seen as it happens', async ({ signedIn: page, request, session }) => {
  await page.goto('/lifecycle');
  const agents = page.getByRole('region', { name: 'Agents (executors)' });
  await expect(agents.getByRole('row').filter({ hasText: 'stories' })).toContainText(/Idle|Busy/);
  await expect(agents.getByRole('button', { name: 'Copy the ID of stories' })).toBeVisible();
  const table = page.getByRole('region', { name: ORCHESTRATORS });
  await expect(table.getByRole('row').filter({ hasText: 'node-1' })).toContainText('Running');

  const registered = await say(request, session, 'register', { url: 'http://10.0.0.7:5080', name: 'from-afar' });
  const row = table.getByRole('row').filter({ hasText: 'from-afar' });
  await expect(row).toContainText('Starting');
  await expect(row).toHaveClass(/flash-/);
  await say(request, session, `${registered}/status`, { status: 'Running' });
  await expect(row).toContainText('Running');
  await say(request, session, `${registered}/unregister`, {});
  await expect(row).toHaveCount(0);
  const feed = page.locator('.event-feed');
  await expect(feed).toContainText('from-afar registered as orchestrator');
  await expect(feed).toContainText('from-afar has left as orchestrator');
});

test('ages count in the browser, and what is missed meanwhile is caught up', async ({
  signedIn: page,
  request,
  session,
}) => {
  await page.goto('/lifecycle');
  const table = page.getByRole('region', { name: ORCHESTRATORS });
  const age = table.getByRole('row').filter({ hasText: 'node-1' }).locator('.beat-age');
  const before = await age.textContent();
  await expect(age).not.toHaveText(before ?? '');
  await page.getByRole('button', { name: 'Pause live updates' }).click();
  const id = await say(request, session, 'register', { url: 'http://10.0.0.8:5080', name: 'meanwhile' });
  await expect(table.getByText('meanwhile')).toHaveCount(0);
  await page.getByRole('button', { name: 'Resume live updates' }).click();
  await expect(table.getByText('meanwhile')).toBeVisible();
  await say(request, session, `${id}/unregister`, {});
  await expect(table.getByText('meanwhile')).toHaveCount(0);
});

test('where no orth up keeps the processes, nothing is offered and it says why', async ({ signedIn: page }) => {
  await page.goto('/lifecycle');
  await page.getByRole('button', { name: 'Why nothing can be started here' }).press('Enter');
  await expect(page.getByRole('tooltip')).toContainText('while `orth up` keeps the processes');
  await expect(page.getByRole('button', { name: /^(Start|Stop|Restart)$/ })).toHaveCount(0);
});

/** Speak for a service, as an administrator may; the id of the service. */
async function say(request: APIRequestContext, session: Session, what: string, data: object): Promise<string> {
  const Cookie = session.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
  const mine = await (await request.get('/api/v1/auth/session', { headers: { Cookie } })).json();
  const headers = { Cookie, 'X-CSRF-Token': mine.csrf_token as string };
  const answer = await request.post(`/api/orchestrators/${what}`, { headers, data });
  expect(answer.status()).toBe(200);
  return (await answer.json()).id as string;
}
