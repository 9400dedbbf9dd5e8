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
  const before = await context.cookies();
  await page.getByRole('button', { name: `Signed in as ${user}` }).click();
  await page.getByText('Sign out').click();
  await expect(page).toHaveURL(/\/login$/);
  await context.addCookies(before);
  await page.goto('/');
  await expect(page).toHaveURL(/\/login$/);
});

test('the page accepts nothing from elsewhere and cannot be framed', async ({ request }) => {
  const page = await request.get('/jobs/17', { headers: { Accept: 'text/html' } });
  const policy = page.headers()['content-security-policy'] ?? '';
  expect(policy).toContain("script-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain('unsafe');
  expect(await page.text()).toContain('<base href="../">');
});
