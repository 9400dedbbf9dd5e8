// What stands in the place of a page that is not there, or that one may not see.

import { call, made } from './calling';
import { browserOptions, expect, test as story } from './stage';

const test = story.extend({ refusals: [404] });

test('a page that is not there has a name of its own and a heading', async ({ signedIn: page }) => {
  await page.goto('/jobs');
  await expect(page).toHaveTitle('Jobs · Orth');
  for (const [path, title] of [
    ['/no/such/page', 'There is no such page'],
    ['/jobs/999999', 'There is no such job'],
    ['/executions/999999', 'There is no such execution'],
    ['/scripts/999999', 'There is no such script'],
  ] as const) {
    await page.goto(path);
    await expect(page.getByRole('heading', { level: 1, name: title })).toBeVisible();
    await expect(page).toHaveTitle(`${title} · Orth`);
  }
});

test('a job that somebody else deletes is gone from the page that shows it', async ({ signedIn: page }) => {
  const job = await made(page, 'Not for long');
  await page.goto(`/jobs/${job}`);
  await expect(page.getByRole('button', { name: 'Run once' })).toBeVisible();
  await call(page, 'DELETE', `/jobs/${job}`);
  await expect(page.getByRole('heading', { level: 1, name: 'There is no such job' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Run once' })).toHaveCount(0);
});

test('who has no role is told whom to ask, and nothing is asked for in vain', async ({ signedIn, browser }) => {
  const kim = { username: 'kim-without-role', password: 'the password of kim' };
  const { id } = await call(signedIn, 'POST', '/users', { ...kim, grants: [] });
  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  const refused: string[] = [];
  page.on('response', (answer) => answer.status() === 403 && refused.push(answer.url()));
  await page.goto('/login');
  await page.getByLabel('User name').fill(kim.username);
  await page.getByLabel('Password').fill(kim.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  const told = page.getByRole('heading', { level: 1, name: 'You have no role yet' });
  await expect(told).toBeVisible();
  for (const path of ['/jobs', '/settings']) {
    await page.goto(path);
    await expect(told).toBeVisible();
  }
  await page.getByRole('link', { name: 'Own account' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Own account' })).toBeVisible();
  expect(refused).toEqual([]);
  await context.close();
  await call(signedIn, 'DELETE', `/users/${id}`);
});
