import { browserOptions, expect, test } from './stage';

test('a job is found by a few letters, run and followed, by keyboard alone', async ({ signedIn: page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.keyboard.press('Control+k');
  const palette = page.getByRole('dialog', { name: 'Search or do' });
  await expect(palette.getByRole('combobox')).toBeFocused();
  await page.keyboard.type('run grcus');
  const option = palette.getByRole('option', { name: /^Run Greet the customers/ });
  await expect(option).toBeVisible();
  while ((await option.getAttribute('aria-selected')) !== 'true') await page.keyboard.press('ArrowDown');
  await page.keyboard.press('Enter');
  await expect(palette).toContainText('It runs once, now');
  await expect(palette.getByRole('button', { name: 'Run', exact: true })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/executions\/\d+$/);
  await expect(page.getByRole('heading', { level: 1, name: 'Greet the customers' })).toBeVisible();
});

test('pages, executions by number, language and theme', async ({ signedIn: page }) => {
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.keyboard.press('/');
  const field = page.getByRole('combobox', { name: 'Search or do' });
  await field.fill('timel');
  await page.getByRole('option', { name: 'Timeline' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Timeline' })).toBeVisible();
  await page.getByRole('button', { name: /Search or do…/ }).click();
  await field.fill('#1');
  await expect(page.getByRole('option', { name: 'Execution 1', exact: true })).toHaveAttribute('aria-selected', 'true');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/executions\/1$/);
  await page.keyboard.press('Control+k');
  await field.fill('theme dark');
  await page.getByRole('option', { name: 'Theme: Dark' }).click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
  await page.keyboard.press('Control+k');
  await field.fill('franc');
  await page.getByRole('option', { name: 'Language: Français' }).click();
  await expect(page.locator('html')).toHaveAttribute('lang', 'fr');
});

test('the sheet of keys, and lists by keyboard', async ({ signedIn: page }) => {
  await page.goto('/executions?status=success');
  const tag = page.getByRole('button', { name: 'Success 200/200' }).first();
  await expect(tag).toBeVisible();
  await page.keyboard.press('?');
  const sheet = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await expect(sheet).toContainText('Next row');
  await page.keyboard.press('Escape');
  await expect(sheet).toBeHidden();
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  const second = page.locator('tr[data-row-key]').nth(1);
  await expect(second).toBeFocused();
  const key = await second.getAttribute('data-row-key');
  await page.keyboard.press('x');
  await expect(second.getByRole('checkbox')).toBeChecked();
  await page.keyboard.press('k');
  await page.keyboard.press('j');
  await page.keyboard.press('o');
  await expect(page).toHaveURL(new RegExp(`/executions/${key}$`));
});

test('a view is kept under a name and found again', async ({ signedIn: page }) => {
  await page.goto('/executions?status=timeout');
  await page.getByRole('button', { name: 'Views' }).click();
  await page.getByLabel('Name of this view').fill('Too slow');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('link', { name: 'Too slow' })).toBeVisible();
  await page.goto('/');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.keyboard.press('Control+k');
  await page.getByRole('combobox', { name: 'Search or do' }).fill('too slow');
  await page
    .getByRole('option', { name: /Too slow/ })
    .first()
    .click();
  await expect(page).toHaveURL(/\/executions\?status=timeout$/);
  await page.getByRole('button', { name: 'Too slow' }).click();
  await page.getByRole('button', { name: 'Remove the view Too slow' }).click();
  await expect(page.getByText('No views yet')).toBeVisible();
});

test('actions are not offered to those who may not do them', async ({ signedIn: page, browser }) => {
  await page.goto('/');
  const password = await page.evaluate(async () => {
    const mine = await (await fetch('/api/v1/auth/session')).json();
    const headers = { 'X-CSRF-Token': mine.csrf_token, 'Content-Type': 'application/json' };
    const body = JSON.stringify({ username: 'looks-only', role: 'viewer' });
    return (await (await fetch('/api/v1/users', { method: 'POST', headers, body })).json()).password as string;
  });
  const context = await browser.newContext({ ...browserOptions });
  const theirs = await context.newPage();
  await theirs.goto('/login');
  await theirs.getByLabel('User name').fill('looks-only');
  await theirs.getByLabel('Password').fill(password);
  await theirs.getByRole('button', { name: 'Sign in' }).click();
  await expect(theirs.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
  await theirs.keyboard.press('Control+k');
  await theirs.getByRole('combobox', { name: 'Search or do' }).fill('greet');
  await expect(theirs.getByRole('option', { name: /Greet the customers/ })).toHaveCount(1);
  await context.close();
});

test('lists of every page by keyboard, with views of their own', async ({ signedIn: page }) => {
  for (const path of ['/jobs', '/executors', '/admin/users', '/admin/audit', '/cluster', '/timeline?view=table']) {
    await page.goto(path);
    const rows = page.getByRole('main').locator('tr[data-row-key]');
    await expect(rows.first(), path).toBeVisible();
    await page.keyboard.press('j');
    await expect(rows.first(), path).toBeFocused();
  }
  await page.goto('/executors?text=stories');
  const view = page.getByRole('button', { name: 'Views' });
  await view.click();
  await page.getByRole('textbox', { name: 'Name of this view' }).fill('Ours');
  await page.getByRole('dialog', { name: 'Views' }).getByRole('button', { name: 'Save' }).click();
  await page.goto('/executors?text=nobody');
  await expect(page.getByText('stories', { exact: true })).toHaveCount(0);
  await view.click();
  await page.getByRole('link', { name: 'Ours' }).click();
  await expect(page).toHaveURL(/\/executors\?text=stories$/);
  await expect(page.getByText('stories', { exact: true }).first()).toBeVisible();
  await page.goto('/admin/audit');
  await view.click();
  await expect(page.getByRole('link', { name: 'Ours' })).toHaveCount(0);
});

test('what is typed before the palette has been loaded is in its field', async ({ signedIn: page }) => {
  await page.route(/\/assets\/Palette-[^/]*\.js/, async (route) => {
    await new Promise((over) => setTimeout(over, 700));
    await route.continue();
  });
  await page.goto('/jobs');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const field = page.getByRole('combobox', { name: 'Search or do' });
  await page.keyboard.press('/');
  await page.keyboard.type('rotatex');
  await page.keyboard.press('Backspace');
  await page.keyboard.type(' jk?');
  await expect(field).toHaveValue('rotate jk?');
  await expect(page.getByRole('dialog', { name: 'Keys' })).toHaveCount(0);
  await page.keyboard.type('!');
  await expect(field).toHaveValue('rotate jk?!');
  await page.keyboard.press('Escape');
  await page.keyboard.press('Control+k');
  await page.keyboard.type('timel');
  await expect(field).toHaveValue('timel');
  await page.keyboard.press('Escape');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
});

test('Escape gives up a palette that is still loading', async ({ signedIn: page }) => {
  let release = () => {};
  const held = new Promise<void>((over) => {
    release = over;
  });
  await page.route(/\/assets\/Palette-[^/]*\.js/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto('/jobs');
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.keyboard.press('Control+k');
  await page.keyboard.type('some');
  await page.keyboard.press('Escape');
  const loaded = page.waitForResponse(/\/assets\/Palette-[^/]*\.js/);
  release();
  await loaded;
  const search = page.getByRole('main').getByRole('searchbox');
  await search.pressSequentially('greet');
  await expect(search).toHaveValue('greet');
  await expect(page.getByRole('dialog')).toHaveCount(0);
});
