// What happens elsewhere is seen here, without asking again and again.

import type { Page } from '@playwright/test';
import { call, made } from './calling';
import { browserOptions, expect, jobs, signIn, test } from './stage';

async function tell(page: Page, deed: 'start' | 'stop', job: number | undefined): Promise<void> {
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  const headers = { 'X-CSRF-Token': csrf_token };
  const answer = await page.request.post(`/api/v1/jobs/${job}/${deed}`, { headers });
  expect(answer.ok(), await answer.text()).toBe(true);
}

test('a job that is stopped and started elsewhere is seen on Jobs and on its page', async ({ signedIn: page }) => {
  const job = jobs['Nightly report'];
  await page.goto('/jobs?text=Nightly');
  const onOff = page.getByRole('row', { name: /Nightly report/ }).getByRole('switch');
  await expect(onOff).toBeChecked();
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  let asked = 0;
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/jobs/board')) asked += 1;
  });
  await tell(page, 'stop', job);
  await expect(onOff).not.toBeChecked();
  expect(asked, 'questions for one change').toBeLessThan(4);
  await page.goto(`/jobs/${job}`);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Start', exact: true })).toBeVisible();
  await tell(page, 'start', job);
  await expect(page.getByRole('button', { name: 'Stop', exact: true })).toBeVisible();
});

test('the dashboard asks when something has changed', async ({ signedIn: page }) => {
  await page.goto('/');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.waitForLoadState('networkidle');
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/stats')) asked.push(request.url());
  });
  await tell(page, 'stop', jobs['Nightly report']);
  await expect.poll(() => asked.length, { message: 'a change is asked for' }).toBeGreaterThan(0);
  await tell(page, 'start', jobs['Nightly report']);
});

test('the dashboard asks for sums every few seconds, however often something ends', async ({ signedIn: page }) => {
  await page.goto('/');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.waitForLoadState('networkidle');
  const asked: string[] = [];
  page.on('request', (request) => {
    if (request.url().includes('/api/v1/stats')) asked.push(new URL(request.url()).pathname);
  });
  const began = Date.now();
  while (Date.now() - began < 12_000) {
    await call(page, 'POST', `/jobs/${jobs['Greet the customers']}/trigger`, {});
    await page.waitForTimeout(700);
  }
  for (const path of new Set(asked)) {
    const times = asked.filter((one) => one === path).length;
    expect(times, path).toBeLessThan(7); // at once, then every 5 s; twice where the question was older than the change
  }
  expect(new Set(asked).size).toBe(3);
});

test('what is to come is counted by the clock of the server', async ({ signedIn: page }) => {
  await page.addInitScript(() => {
    const right = Date.now;
    Date.now = () => right() + 26 * 3_600_000;
  });
  await page.goto('/jobs?text=Nightly');
  const row = page.getByRole('row', { name: /Nightly report/ });
  await expect(row.getByText(/^in \d+/)).toBeVisible();
  await expect(row.getByText('due', { exact: true })).toHaveCount(0);
});

const LISTS = [
  '/',
  '/jobs',
  '/executions',
  '/executions?status=failed',
  '/timeline?view=table',
  '/executors',
  '/scripts',
];

/** Which questions a page asked more than once while it was opened; null: something has changed meanwhile. */
async function askedTwice(page: Page, path: string): Promise<string[] | null> {
  const asked: string[] = [];
  let told = 0;
  const onRequest = (request: { url: () => string }) => {
    if (request.url().includes('/api/v1/')) asked.push(new URL(request.url()).href);
  };
  page.on('request', onRequest);
  page.once('websocket', (line) =>
    line.on('framereceived', ({ payload }) => {
      if (String(payload).includes('changed')) told += 1;
    }),
  );
  await page.goto(path);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.waitForLoadState('networkidle');
  page.off('request', onRequest);
  return told > 0 ? null : asked.filter((one, index) => asked.indexOf(one) !== index);
}

for (const path of LISTS) {
  test(`${path} asks for everything once`, async ({ signedIn: page }) => {
    let twice: string[] | null = null;
    await expect(async () => {
      twice = await askedTwice(page, path);
      expect(twice, 'a look while nothing changed').not.toBeNull();
    }).toPass({ timeout: 25_000 });
    expect(twice).toEqual([]);
  });
}

test('what goes on stands still while updates are paused, and who would act on it is told how old it is', async ({
  signedIn: page,
}) => {
  const job = await made(page, 'Go on and on', { executor_handler: 'linger' });
  await call(page, 'POST', `/jobs/${job}/trigger`, {});
  await page.goto(`/executions?job_id=${job}`);
  const lasts = page.getByRole('row', { name: /Go on and on/ }).getByRole('cell', { name: /^\d+(\.\d+)? s$/ });
  await expect(lasts).toBeVisible();
  await page.getByRole('button', { name: 'Pause live updates' }).click();
  const paused = page.getByText(/^Paused · \d+s ago$/);
  await expect(paused).toBeVisible();
  const [held, age] = [await lasts.textContent(), await paused.textContent()];
  await expect(paused).not.toHaveText(age ?? '');
  await expect(lasts).toHaveText(held ?? '');
  await page.getByRole('button', { name: 'Kill', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByRole('note')).toContainText(/What you see is from \d+s ago/);
  await dialog.getByRole('button', { name: 'Kill' }).click();
  await expect(page.getByRole('button', { name: 'Failed 200/500' })).toBeVisible();
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('a role that is taken away is not offered any more within a second, on a page that is open', async ({
  signedIn: admin,
  browser,
}) => {
  const person = { username: 'demoted', password: 'not-for-long-an-operator' };
  const { id } = await call(admin, 'POST', '/users', { ...person, role: 'operator' });
  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  await signIn(page, '', person);
  await page.goto(`/jobs/${jobs['Greet the customers']}`);
  const run = page.getByRole('button', { name: 'Run once' });
  await expect(run).toBeVisible();
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.getByRole('heading', { level: 1 }).evaluate((one) => one.setAttribute('data-same', 'yes'));
  await call(admin, 'PATCH', `/users/${id}`, { role: 'viewer' });
  await expect(run).toHaveCount(0, { timeout: 2_000 });
  await expect(page.locator('h1[data-same]'), 'the page is the same').toHaveCount(1);
  await call(admin, 'PATCH', `/users/${id}`, { role: 'operator' });
  await expect(run).toBeVisible({ timeout: 2_000 });
  await context.close();
});

test('where no line can be had, what changes is seen all the same, and how old it is', async ({ signedIn: page }) => {
  await page.routeWebSocket(/\/api\/v1\/changes/, (line) => void line.close({ code: 1012 }));
  const job = await made(page, 'Linger without a line', { executor_handler: 'linger' });
  const { execution_ids } = await call(page, 'POST', `/jobs/${job}/trigger`, {});
  await page.goto(`/executions?job_id=${job}`);
  await expect(page.getByRole('button', { name: /^Pending 200/ })).toBeVisible();
  await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  await call(page, 'POST', `/executions/${execution_ids[0]}/kill`);
  await expect(page.getByRole('button', { name: /^Failed 200/ })).toBeVisible();
  await expect(page.getByText(/What you see is from (now|\ds ago)/)).toBeVisible();
  await call(page, 'DELETE', `/jobs/${job}`);
});
