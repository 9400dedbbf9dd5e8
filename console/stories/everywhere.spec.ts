// What holds on every page: languages, themes, keyboards, proxies and a line that is cut.

import { AxeBuilder } from '@axe-core/playwright';
import { PREFIX, proxyUnderPrefix } from './prefix_proxy';
import { expect, jobs, signIn, test, url } from './stage';

const PAGES = [
  '/',
  '/jobs',
  '/jobs/new',
  `/jobs/${jobs['Greet the customers']}`,
  `/jobs/${jobs['Nightly report']}/edit`,
  '/executors',
  '/lifecycle',
  '/cluster',
  '/executions',
  '/timeline',
  '/timeline?view=table',
  '/executions/1',
  '/executions/1/log',
  '/alarms',
  '/alarms/history',
  '/alarms/rules',
  '/alarms/channels',
  '/scripts',
  `/scripts/${jobs['Clean the archive']}`,
  '/admin/users',
  '/admin/tokens',
  '/admin/audit',
  '/settings',
  '/account',
];

for (const theme of ['light', 'dark']) {
  for (const path of PAGES) {
    test(`${path} in ${theme} has no serious fault of accessibility`, async ({ signedIn: page }) => {
      await page.addInitScript((chosen) => localStorage.setItem('orth.preferences', `{"theme":"${chosen}"}`), theme);
      await page.goto(path);
      await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      const { violations } = await new AxeBuilder({ page })
        .withTags(['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'])
        .analyze();
      const serious = violations.filter((one) => one.impact === 'serious' || one.impact === 'critical');
      expect(serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`)).toEqual([]);
    });
  }
}

test('language and theme change at once and stay', async ({ signedIn: page }) => {
  await page.goto('/executions');
  await page.getByRole('button', { name: 'Language' }).click();
  await page.getByText('Français').click();
  await expect(page.getByRole('heading', { level: 1, name: 'Exécutions' })).toBeVisible();
  await expect(page.getByText('Succès 200/200').first()).toBeVisible();
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('lang', 'fr');
  await page.getByRole('button', { name: 'Langue' }).click();
  await page.getByText('简体中文').click();
  await expect(page.getByText('调度失败 500/0').first()).toBeVisible();
  await page.getByRole('button', { name: '主题' }).click();
  await page.getByText('深色').click();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
});

test('everything works under a path prefix, live line included', async ({ page }) => {
  const proxy = await proxyUnderPrefix(url);
  try {
    await signIn(page, proxy.url);
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    await page.getByRole('link', { name: 'Executions', exact: true }).click();
    await expect(page).toHaveURL(`${proxy.url}/executions`);
    await page.reload();
    await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
    await page.goto(`${proxy.url}/no/such/page`);
    await expect(page.getByText('There is no such page')).toBeVisible();
    expect(proxy.strayed(), `what was asked for outside ${PREFIX}`).toEqual([]);
  } finally {
    await proxy.close();
  }
});

test('a line that is cut is told, with the age of what is seen, and comes back', async ({ page }) => {
  const proxy = await proxyUnderPrefix(url);
  try {
    await signIn(page, proxy.url);
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    proxy.cut(true);
    await expect(page.getByText(/Disconnected, retrying in \d+ s/)).toBeVisible();
    await expect(page.getByText('What you see is from')).toBeVisible();
    proxy.cut(false);
    await page.getByRole('button', { name: 'Retry now' }).click();
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
  } finally {
    await proxy.close();
  }
});

test('live updates can be held still', async ({ signedIn: page }) => {
  await page.goto('/');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Pause live updates' }).click();
  await expect(page.getByText('Paused', { exact: true })).toBeVisible();
  await page.getByRole('button', { name: 'Resume live updates' }).click();
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
});
