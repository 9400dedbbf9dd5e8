import { browserOptions, expect, jobs, signIn, test } from './stage';

test('groups show who is online and which handlers they offer', async ({ signedIn: page }) => {
  await page.goto('/executors');
  const groups = page.getByRole('region', { name: 'Groups' });
  const stories = groups.getByRole('row').filter({ hasText: 'stories' });
  await expect(stories).toContainText('1/1');
  await expect(groups.getByRole('row').filter({ hasText: 'nobody' })).toContainText('0/0');
  await stories.getByRole('button', { name: 'Expand row' }).click();
  const handlers = page.getByRole('list', { name: 'Handlers of stories' });
  await expect(handlers).toContainText('linger');
  await handlers.getByText('Parameters').first().click();
  await expect(handlers.locator('pre').first()).toBeVisible();
});

test('an executor is called from the page, and one sees who reaches it', async ({ signedIn: page }) => {
  await page.goto('/executors');
  const row = page.getByRole('region', { name: 'Instances' }).getByRole('row').filter({ hasText: 'stories' });
  await expect(row).toContainText('Healthy');
  await expect(row).toContainText('from node-1');
  await expect(row).toContainText(/Python 3\.\d+\.\d+/);
  await expect(row.locator('[title="Results that no coordinator has answered for"]')).toHaveText(/^\d+$/);
  await expect(page.getByRole('columnheader', { name: 'Running and waiting' })).toContainText('as of the last beat');
  const load = row.getByRole('link', { name: /runs? or waits? on http/ });
  await expect(load).toHaveAccessibleName(new RegExp(`^${await load.textContent()}`));
  const [version, actions] = await Promise.all([-2, -1].map((at) => row.getByRole('cell').nth(at).boundingBox()));
  expect((version?.x ?? 0) + (version?.width ?? 0), 'nothing lies behind the actions').toBeLessThanOrEqual(
    (actions?.x ?? 0) + 1,
  );
  await row.getByRole('button', { name: 'Ping' }).click();
  await expect(page.getByText(/It answered node-1 within \d+ ms/)).toBeVisible();
  await expect(row).toContainText('reached');
});

test('an executor is drained, gets nothing new, and is resumed', async ({ signedIn: page }) => {
  await page.goto('/executors');
  const row = page.getByRole('region', { name: 'Instances' }).getByRole('row').filter({ hasText: 'stories' });
  await row.getByRole('button', { name: 'Drain' }).click();
  const dialog = page.getByRole('dialog', { name: 'Keep new work away from this executor?' });
  await expect(dialog).toContainText('of stories gets nothing new');
  await dialog.getByRole('button', { name: 'Drain' }).click();
  await expect(row).toContainText('Drained');
  await expect(row).toContainText('Healthy');
  await page.goto(`/jobs/${jobs['Greet the customers']}`);
  await page.getByRole('button', { name: 'Run once' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page.getByText('Drained, so nothing new is sent there').first()).toBeVisible();
  await page.goto('/executors');
  await row.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Resume' }).click();
  await expect(row).not.toContainText('Drained');
});

test('scripts are switched on for a group, and off again', async ({ signedIn: page }) => {
  await page.goto('/executors');
  const scripts = page.getByRole('switch', { name: 'Scripts may be written and run in nobody' });
  await expect(scripts).not.toBeChecked();
  await scripts.click();
  await expect(scripts).toBeChecked();
  await page.reload();
  await expect(scripts).toBeChecked();
  await scripts.click();
  await expect(scripts).not.toBeChecked();
});

test('a group is made with addresses of its own, changed, and deleted', async ({ signedIn: page }) => {
  await page.goto('/executors');
  await page.getByRole('button', { name: 'New group' }).click();
  const dialog = page.getByRole('dialog', { name: 'New group' });
  await dialog.getByLabel('App name').fill('by-hand');
  await dialog.getByText('Written by hand', { exact: true }).click();
  await dialog.getByLabel('Addresses of its executors').fill('http://127.0.0.1:9,');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const made = page.getByRole('region', { name: 'Groups' }).getByRole('row').filter({ hasText: 'by-hand' });
  await expect(made).toContainText('1, written by hand');
  await expect(made).toContainText('not watched');
  await made.getByRole('button', { name: 'Edit' }).click();
  const edited = page.getByRole('dialog', { name: 'Group “by-hand”' });
  await expect(edited.getByLabel('App name')).toBeDisabled();
  await edited.getByLabel('Name', { exact: true }).fill('Those by hand');
  await edited.getByText('From the registry').click();
  await edited.getByRole('button', { name: 'Save' }).click();
  await expect(made).toContainText('Those by hand');
  await expect(made).toContainText('0, from the registry');
  await made.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(made).toHaveCount(0);
});

test('executors of an unknown app are adopted, and one is removed', async ({ signedIn: page, request }) => {
  const headers = { 'ORTH-ACCESS-TOKEN': process.env.ORTH_STORY_TOKEN ?? '' };
  const beat = { registryGroup: 'EXECUTOR', registryKey: 'newcomers', registryValue: 'http://127.0.0.1:9' };
  expect((await request.post('/api/registry', { headers, data: beat })).status()).toBe(200);
  await page.goto('/executors');
  const unknown = page.locator('.unclaimed li').filter({ hasText: 'newcomers' });
  await expect(unknown).toContainText('1 executor, and no group has it');
  await unknown.getByRole('button', { name: 'Adopt' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Adopt' }).click();
  await expect(unknown).toHaveCount(0);
  const groups = page.getByRole('region', { name: 'Groups' });
  await expect(groups.getByRole('row').filter({ hasText: 'newcomers' })).toContainText('1/1');
  const row = page.getByRole('region', { name: 'Instances' }).getByRole('row').filter({ hasText: 'newcomers' });
  await row.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(row).toHaveCount(0);
});

test('who has a role in one group only is offered its executors, and neither cluster nor life cycles', async ({
  browser,
  request,
  session,
}) => {
  const Cookie = session.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
  const mine = await (await request.get('/api/v1/auth/session', { headers: { Cookie } })).json();
  const headers = { Cookie, 'X-CSRF-Token': mine.csrf_token as string };
  const groups = await (await request.get('/api/v1/groups', { headers })).json();
  const group = groups.items.find((one: { app_name: string }) => one.app_name === 'stories');
  const person = { username: 'onlooker', password: 'only-looks-at-stories' };
  const grants = [{ group_id: group.id, role: 'viewer' }];
  expect((await request.post('/api/v1/users', { headers, data: { ...person, grants } })).status()).toBe(201);

  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  await signIn(page, '', person);
  await expect(page.getByRole('link', { name: 'Executors', exact: true })).toBeVisible();
  for (const name of ['Cluster', 'Lifecycle']) await expect(page.getByRole('link', { name })).toHaveCount(0);
  await page.goto('/executors');
  const instances = page.getByRole('region', { name: 'Instances' });
  await expect(instances.getByRole('row').filter({ hasText: 'stories' })).toContainText('Healthy');
  for (const name of ['Ping', 'Remove']) await expect(page.getByRole('button', { name })).toHaveCount(0);
  await expect(page.getByRole('switch')).toHaveCount(0);
  const refused: string[] = [];
  page.on('response', (answer) => answer.status() === 403 && refused.push(answer.url()));
  for (const path of ['/cluster', '/lifecycle']) {
    await page.goto(path);
    await expect(page.getByText('You may not see this page')).toBeVisible();
    await expect(page.getByRole('main').getByRole('table')).toHaveCount(0);
    await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0);
  }
  expect(refused, 'what is asked for in vain').toEqual([]);
  await context.close();
});
