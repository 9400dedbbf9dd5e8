import { readFile } from 'node:fs/promises';
import { call } from './calling';
import { browserOptions, expect, jobs, password, signIn, test } from './stage';

test('what this browser shows can be chosen, and the start page is gone to', async ({ signedIn: page }) => {
  await page.goto('/settings');
  await page.getByText('Compact').click();
  await page.getByRole('combobox', { name: 'Start page' }).click();
  await page.getByTitle('Executions', { exact: true }).click();
  await page.goto('/');
  await expect(page).toHaveURL(/\/executions$/);
  await page.getByRole('link', { name: 'Dashboard', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
});

test('no start page is offered that one may not see, and one that was chosen before leads to the dashboard', async ({
  signedIn,
  browser,
}) => {
  const { job_group } = await call(signedIn, 'GET', `/jobs/${jobs['Greet the customers']}`);
  const gil = { username: 'gil-of-one-group', password: 'the password of gil' };
  await call(signedIn, 'POST', '/users', { ...gil, grants: [{ group_id: job_group, role: 'viewer' }] });
  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  await signIn(page, '', gil);
  await page.goto('/settings');
  await page.getByRole('combobox', { name: 'Start page' }).click();
  await expect(page.getByTitle('Executions', { exact: true })).toBeVisible();
  for (const hidden of ['Cluster', 'Lifecycle', 'Admin']) {
    await expect(page.getByTitle(hidden, { exact: true })).toHaveCount(0);
  }
  await page.evaluate(() => localStorage.setItem('orth.preferences', JSON.stringify({ landing: '/cluster' })));
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
  await expect(page).toHaveURL(/:\d+\/$/);
  await page.goto('/settings');
  await expect(page.getByRole('group', { name: 'Start page' })).toContainText('Dashboard');
  await context.close();
});

test('what the coordinator runs with is shown with where it was said, and no secret', async ({ signedIn: page }) => {
  await page.goto('/settings');
  await page.getByRole('textbox', { name: 'Search settings' }).fill('admin_password');
  const row = page.getByRole('row', { name: /security\.admin_password/ });
  await expect(row).toContainText('ORTH_SECURITY__ADMIN_PASSWORD');
  await expect(row).not.toContainText(password);
  await expect(page.getByRole('row', { name: /retention\.executions/ }).first()).toContainText('30d');
  const saving = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Diagnostics' }).click();
  const saved = await readFile(await (await saving).path(), 'utf8');
  expect(JSON.parse(saved).cluster.nodes[0].id).toBe('node-1');
  expect(saved).not.toContain(password);
});

test('a new password is asked for twice, and other sessions can be ended', async ({ signedIn: page, request }) => {
  await request.post('/api/v1/auth/login', { data: { username: 'admin', password } });
  await page.goto('/');
  await page.getByRole('button', { name: 'Signed in as admin' }).click();
  await page.getByText('Own account').click();
  await expect(page).toHaveURL(/\/account$/);
  await page.getByLabel('New password', { exact: true }).fill('another password');
  await page.getByLabel('New password again').fill('another passwort');
  await page.getByRole('button', { name: 'Change password' }).click();
  await expect(page.getByText('It is not the same.')).toBeVisible();
  const sessions = page.locator('.panel', { hasText: 'Where you are signed in' });
  await expect(sessions.getByText('this one')).toBeVisible();
  const before = await sessions.getByRole('listitem').count();
  expect(before).toBeGreaterThan(1);
  await sessions.getByRole('button', { name: 'End', exact: true }).first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'End', exact: true }).click();
  await expect(sessions.getByRole('listitem')).toHaveCount(before - 1);
});

test('settings are explained in the language of the page', async ({ signedIn: page }) => {
  await page.goto('/settings');
  const row = page.getByRole('row', { name: /retention\.audit/ }).first();
  await expect(row).toContainText('How long the record of who changed what is kept.');
  await page.evaluate(() => localStorage.setItem('orth.preferences', JSON.stringify({ language: 'fr' })));
  await page.reload();
  await expect(row).toContainText('Combien de temps est gardé l’enregistrement de qui a changé quoi.');
});

test('what one chooses is there in another browser, and not for who signs in next', async ({ signedIn, browser }) => {
  const [ida, jon] = ['ida', 'jon'].map((name) => ({
    username: `${name}-who-chooses`,
    password: `password of ${name}`,
  }));
  for (const one of [ida, jon]) await call(signedIn, 'POST', '/users', { ...one, role: 'viewer' });
  const first = await browser.newContext({ ...browserOptions });
  const page = await first.newPage();
  await signIn(page, '', ida);
  await page.goto('/executions?status=failed');
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByRole('textbox', { name: 'Name of this view' }).fill('What failed');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.goto('/settings');
  const kept = page.waitForResponse((one) => one.url().endsWith('/auth/preferences') && one.ok());
  await page.getByRole('radiogroup', { name: 'Theme' }).getByText('Dark').click();
  await kept;

  const second = await browser.newContext({ ...browserOptions });
  const elsewhere = await second.newPage();
  await signIn(elsewhere, '', ida);
  await expect(elsewhere.locator('html')).toHaveCSS('color-scheme', 'dark');
  await elsewhere.goto('/executions');
  await elsewhere.getByRole('button', { name: 'Views' }).click();
  await elsewhere.getByRole('link', { name: 'What failed' }).click();
  await expect(elsewhere).toHaveURL(/status=failed/);
  await second.close();

  await page.getByRole('button', { name: `Signed in as ${ida?.username}` }).click();
  await page.getByText('Sign out').click();
  await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible();
  const next = await first.newPage();
  await signIn(next, '', jon);
  await next.goto('/executions?status=failed');
  await next.getByRole('button', { name: 'Views' }).click();
  await expect(next.getByText('No views yet.')).toBeVisible();
  await first.close();
});
