// What holds on every page: languages, themes, keyboards, proxies and a line that is cut.

import { AxeBuilder } from '@axe-core/playwright';
import { PREFIX, proxyUnderPrefix } from './prefix_proxy';
import { expect, jobs, signIn, test, url } from './stage';

/** The pages, by what they are about: those of one story are opened in one browser session, which keeps the files. */
const PAGES: Record<string, string[]> = {
  dashboard: ['/', '/lifecycle', '/cluster'],
  jobs: ['/jobs', `/jobs/${jobs['Greet the customers']}`],
  'jobs that are written': ['/jobs/new', `/jobs/${jobs['Nightly report']}/edit`],
  executions: ['/executions', '/executions/1', '/executions/1/log'],
  timeline: ['/timeline', '/timeline?view=table', '/executors'],
  alarms: ['/alarms', '/alarms/history', '/alarms/rules', '/alarms/channels'],
  scripts: ['/scripts', `/scripts/${jobs['Clean the archive']}`],
  admin: ['/admin/users', '/admin/tokens', '/admin/audit'],
  oneself: ['/settings', '/account'],
};
const RULES = ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa'];
/** What another theme can change: it exchanges colours, and the elements stay the same. */
const RULES_OF_COLOUR = ['color-contrast', 'link-in-text-block'];

const DESK = { width: 1440, height: 900 };
/** Or a page enlarged to 400 %: there tables scroll, tabs do not fit, and other elements are shown. */
const TELEPHONE = { width: 320, height: 800 };

async function seriousFaults(axe: AxeBuilder): Promise<string[]> {
  const { violations } = await axe.analyze();
  const serious = violations.filter((one) => one.impact === 'serious' || one.impact === 'critical');
  return serious.map((one) => `${one.id}: ${one.nodes.map((node) => node.html).join(' | ')}`);
}

for (const [about, paths] of Object.entries(PAGES)) {
  test(`no page about ${about} has a serious fault of accessibility, in light, in dark and on a telephone`, async ({
    signedIn: page,
  }) => {
    test.setTimeout(paths.length * 60_000);
    for (const path of paths) {
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(path);
      await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await page.waitForLoadState('networkidle');
      expect.soft(await seriousFaults(new AxeBuilder({ page }).withTags(RULES)), path).toEqual([]);
      await page.emulateMedia({ colorScheme: 'dark' });
      await expect(page.locator('html')).toHaveAttribute('data-theme', 'dark');
      expect
        .soft(await seriousFaults(new AxeBuilder({ page }).withRules(RULES_OF_COLOUR)), `${path}, dark`)
        .toEqual([]);
      await page.setViewportSize(TELEPHONE);
      expect.soft(await seriousFaults(new AxeBuilder({ page }).withTags(RULES)), `${path}, narrow`).toEqual([]);
      await page.setViewportSize(DESK);
    }
  });
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
