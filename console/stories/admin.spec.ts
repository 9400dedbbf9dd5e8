import { type Browser, expect, type Page } from '@playwright/test';
import { browserOptions, test } from './stage';

test('somebody is added, signs in, is offered what they may, and is signed out when disabled', async ({
  signedIn: page,
  browser,
}) => {
  await page.goto('/admin');
  await page.getByRole('button', { name: 'Add user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('User name').fill('vera');
  await dialog.getByRole('combobox', { name: 'Role in every group' }).click();
  await page.getByTitle('Viewer', { exact: true }).click();
  await dialog.getByRole('button', { name: 'Add user' }).click();
  const once = page.getByRole('dialog', { name: 'Password of vera' });
  const made = (await once.locator('pre').textContent()) ?? '';
  expect(made.length).toBeGreaterThan(10);
  await once.getByRole('button', { name: 'Done' }).click();

  const hers = await signedInAs(browser, 'vera', made);
  await expect(hers.getByRole('link', { name: 'Executions', exact: true })).toBeVisible();
  await expect(hers.getByRole('link', { name: 'Admin', exact: true })).toHaveCount(0);
  await hers.goto('/admin/users');
  await expect(hers.getByRole('button', { name: 'Add user' })).toHaveCount(0);

  const row = page.getByRole('row', { name: /vera/ });
  await row.getByRole('button', { name: 'Sessions' }).click();
  await expect(page.getByRole('dialog', { name: 'Sessions of vera' })).toContainText('by password');
  await page.getByRole('dialog', { name: 'Sessions of vera' }).getByRole('button', { name: 'Close' }).click();
  await row.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('switch', { name: 'May sign in' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(row.getByText('disabled')).toBeVisible();
  await hers.goto('/');
  await expect(hers).toHaveURL(/\/login$/);
  await hers.context().close();
});

test('a token is shown once, works, and is refused when revoked', async ({ signedIn: page, request }) => {
  await page.goto('/admin/tokens');
  await page.getByRole('button', { name: 'New token' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('Deployment');
  await dialog.getByRole('combobox', { name: 'Role in every group' }).click();
  await page.getByTitle('Viewer', { exact: true }).click();
  await dialog.getByRole('button', { name: 'New token' }).click();
  const once = page.getByRole('dialog', { name: 'Token “Deployment”' });
  const token = (await once.locator('pre').textContent()) ?? '';
  await once.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText(token)).toHaveCount(0);

  const asked = () => request.get('/api/v1/jobs', { headers: { Authorization: `Bearer ${token}` } });
  expect((await asked()).status()).toBe(200);
  const row = page.getByRole('row', { name: /Deployment/ });
  await row.getByRole('button', { name: 'Revoke' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(row.getByText('revoked')).toBeVisible();
  await expect(async () => expect((await asked()).status()).toBe(401)).toPass({ timeout: 10_000 });
});

test('a secret is written, replaced and removed, and never shown', async ({ signedIn: page }) => {
  await page.goto('/admin/secrets');
  await page.getByRole('button', { name: 'New secret' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name', { exact: true }).fill('WAREHOUSE_PASSWORD');
  await dialog.getByLabel('Value').fill('not to be seen');
  await dialog.getByRole('button', { name: 'New secret' }).click();
  const row = page.getByRole('row', { name: /WAREHOUSE_PASSWORD/ });
  await expect(row).toContainText('Every group');
  await row.getByRole('button', { name: 'Replace' }).click();
  await page.getByRole('dialog').getByLabel('Value').fill('another value');
  await page.getByRole('dialog').getByRole('button', { name: 'Replace' }).click();
  await expect(row.getByRole('cell', { name: '2', exact: true })).toBeVisible();
  expect(await page.content()).not.toContain('not to be seen');
  await row.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(row).toHaveCount(0);
});

test('the audit tells who changed what, from where, and can be narrowed and saved', async ({ signedIn: page }) => {
  await page.goto('/admin/audit');
  await page.getByRole('textbox', { name: 'What: job.update' }).fill('group.create');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/action=group\.create/);
  const row = page.getByRole('row', { name: /group\.create/ }).first();
  await expect(row).toContainText('admin');
  await expect(row).toContainText('127.0.0.1');
  await row.getByRole('button').first().click();
  await expect(page.getByRole('columnheader', { name: 'After' })).toBeVisible();
  await expect(page.getByText('app_name').first()).toBeVisible();
  await expect(page.getByRole('region', { name: 'End of the chain' })).toContainText(/\d+:[0-9a-f]{16}/);
  await page.getByRole('button', { name: 'Export' }).click();
  const saved = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV' }).click();
  expect((await saved).suggestedFilename()).toBe('orth-audit.csv');
});

async function signedInAs(browser: Browser, name: string, password: string): Promise<Page> {
  const page = await (await browser.newContext({ ...browserOptions })).newPage();
  await page.goto('/login');
  await page.getByLabel('User name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
  return page;
}
