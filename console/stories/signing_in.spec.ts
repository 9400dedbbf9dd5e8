import { call } from './calling';
import { expect, password, signIn, test, user } from './stage';

test('a wrong password is refused, a right one leads to where one was going', async ({ page }) => {
  await page.goto('/executions?status=failed');
  await expect(page).toHaveURL(/\/login$/);
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('wrong');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).toHaveURL(/\/executions\?status=failed$/);
  await expect(page.getByRole('heading', { level: 1, name: 'Executions' })).toBeVisible();
});

test('a link that is not good says what to do', async ({ page }) => {
  await page.goto('/?t=not-a-link');
  await expect(page.getByRole('alert')).toBeVisible();
  await expect(page.getByText('orth login --link', { exact: true })).toBeVisible();
  expect(page.url()).not.toContain('not-a-link');
});

test('signing out ends the session on the server', async ({ page, context }) => {
  await signIn(page);
  await page.goto('/cluster');
  await call(page, 'PATCH', '/auth/preferences', { chosen: { landing: '/alarms' } });
  const before = await context.cookies();
  await page.getByRole('button', { name: `Signed in as ${user}` }).click();
  await page.getByText('Sign out').click();
  await expect(page).toHaveURL(/\/login$/);
  await page.getByLabel('User name').fill(user);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  // The page they start with, and not the one that was left.
  await expect(page.getByRole('heading', { level: 1, name: 'Alarms' })).toBeVisible();
  await call(page, 'PATCH', '/auth/preferences', { chosen: { landing: null } });
  await context.addCookies(before);
  await page.goto('/');
  await expect(page).toHaveURL(/\/login$/);
});

test('a session that ends takes nothing from who signs in again', async ({ page }) => {
  await signIn(page);
  await page.goto('/jobs/new');
  await page.getByLabel('Name', { exact: true }).fill('Ten minutes of work');
  await page.getByLabel('Handler', { exact: true }).fill('greet');
  await call(page, 'POST', '/auth/logout');
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await expect(again).toBeVisible();
  await page.keyboard.press('Escape');
  await page.keyboard.press('Escape');
  await expect(again).toBeVisible();
  await again.getByLabel('Password').fill(password);
  await again.getByRole('button', { name: 'Sign in' }).click();
  await expect(again).toHaveCount(0);
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Ten minutes of work');
  await expect(page.getByRole('button', { name: 'Pause live updates' })).toBeVisible(); // it hears of changes again
  await page.getByRole('button', { name: 'Create' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Ten minutes of work' })).toBeVisible();
  await call(page, 'DELETE', new URL(page.url()).pathname);
});

test('who signs in after somebody else sees nothing of theirs', async ({ page }) => {
  await signIn(page);
  const groups = await call(page, 'GET', '/groups?limit=200');
  const group = groups.items.find((one: { app_name: string }) => one.app_name === 'nobody');
  const gina = { username: 'gina', password: 'for-the-next-person' };
  await call(page, 'POST', '/users', { ...gina, grants: [{ group_id: group.id, role: 'viewer' }] });
  await page.goto('/jobs');
  await expect(page.getByRole('row', { name: /Greet the customers/ })).toBeVisible();
  await call(page, 'POST', '/auth/logout');
  const again = page.getByRole('dialog', { name: 'Your session has ended' });
  await again.getByLabel('User name').fill(gina.username);
  await again.getByLabel('Password').fill(gina.password);
  let answer = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route('**/api/v1/jobs/board*', async (route) => {
    await held;
    await route.continue();
  });
  await again.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: 'Signed in as gina' })).toBeVisible();
  await expect(page.getByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
  await expect(page.getByText('Greet the customers')).toHaveCount(0);
  answer();
  await expect(page.getByRole('row', { name: /Send the invoices/ })).toBeVisible();
  await expect(page.getByText('Greet the customers')).toHaveCount(0);
});

test('somebody else who signs in in another tab takes nothing, and is shown nothing', async ({ page, context }) => {
  await signIn(page);
  const gwen = { username: 'gwen', password: 'for-the-other-tab' };
  const { id } = await call(page, 'POST', '/users', { ...gwen, role: 'viewer' });
  await page.goto('/jobs/new');
  await page.getByLabel('Name', { exact: true }).fill('Ten minutes of work');
  const other = await context.newPage();
  await other.goto('/login');
  await other.getByLabel('User name').fill(gwen.username);
  await other.getByLabel('Password').fill(gwen.password);
  await other.getByRole('button', { name: 'Sign in' }).click();
  await expect(other.getByRole('button', { name: 'Signed in as gwen' })).toBeVisible();
  const covered = page.getByRole('dialog', { name: 'gwen has signed in in another tab' });
  await expect(covered).toBeVisible({ timeout: 3_000 });
  await covered.getByLabel('Password').fill(password);
  await covered.getByRole('button', { name: 'Sign in' }).click();
  await expect(covered).toHaveCount(0);
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Ten minutes of work');
  const back = other.getByRole('dialog', { name: `${user} has signed in in another tab` });
  await back.getByRole('button', { name: `Discard it and go on as ${user}` }).click();
  await expect(other.getByRole('button', { name: `Signed in as ${user}` })).toBeVisible();
  await call(page, 'DELETE', `/users/${id}`);
});

test('the page accepts nothing from elsewhere and cannot be framed', async ({ request }) => {
  const page = await request.get('/jobs/17', { headers: { Accept: 'text/html' } });
  const policy = page.headers()['content-security-policy'] ?? '';
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  expect(await page.text()).toContain('<base href="../">');
});
