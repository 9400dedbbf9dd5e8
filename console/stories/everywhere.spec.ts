// What holds on every page: languages, themes, keyboards, proxies and a line that is cut.

import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { LANGUAGES } from '../src/i18n/languages';
import { linksToldByColour, RULES, RULES_OF_COLOUR, seriousFaults, showsLanguage, showsTheme } from './accessible';
import { call, ended, made } from './calling';
import { EVERY_PAGE } from './every_page';
import { proxyUnderPrefix } from './prefix_proxy';
import { expect, jobs, signIn, test, url } from './stage';

const DESK = { width: 1440, height: 900 };
/** Or a page enlarged to 400 %: there tables scroll, tabs do not fit, and other elements are shown. */
const TELEPHONE = { width: 320, height: 800 };

/** Each language and each theme once at least, on either screen. What another theme or language can change is looked at
 * alone: the elements and their names are the same, and that no name lacks is shown by the gate of texts. */
const SIGHTS = [
  { language: 'en', theme: 'light', screen: DESK, rules: RULES },
  { language: 'zh-CN', theme: 'dark', screen: DESK, rules: RULES_OF_COLOUR },
  { language: 'fr', theme: 'dark', screen: TELEPHONE, rules: RULES },
  { language: 'fr', theme: 'light', screen: TELEPHONE, rules: RULES_OF_COLOUR },
] as const;

async function hasNoSeriousFault(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await page.waitForLoadState('networkidle');
  for (const { language, theme, screen, rules } of SIGHTS) {
    await page.setViewportSize(screen);
    await showsLanguage(page, language);
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await showsTheme(page, theme);
    const where = `${path}, ${language}, ${theme}, ${screen.width} wide`;
    expect.soft(await seriousFaults(axeOf(page, rules)), where).toEqual([]);
    await expect.soft(async () => expect(await linksToldByColour(page), where).toEqual([])).toPass({ timeout: 5_000 });
  }
  await page.setViewportSize(DESK);
  await showsLanguage(page, 'en');
}

function axeOf(page: Page, rules: readonly string[]): AxeBuilder {
  const axe = new AxeBuilder({ page });
  return rules === RULES ? axe.withTags(RULES) : axe.withRules([...rules]);
}

for (const [about, paths] of Object.entries(EVERY_PAGE)) {
  test(`no page about ${about} has a serious fault of accessibility, in any language, in both themes, also on a telephone`, async ({
    signedIn: page,
  }) => {
    test.setTimeout(paths.length * 120_000);
    for (const path of paths) await hasNoSeriousFault(page, path);
  });
}

test('nor has the timeline as a table with more rows than a page of it', async ({ signedIn: page }) => {
  test.setTimeout(3 * 60_000);
  const job = await made(page, 'Look every minute', { schedule_type: 'CRON', schedule_conf: '0 * * * * ?' });
  await call(page, 'POST', `/jobs/${job}/start`);
  await page.goto('/timeline?view=table');
  await page.getByRole('button', { name: 'Next page' }).click();
  await expect(page.getByRole('button', { name: 'Previous page' })).toBeEnabled();
  await hasNoSeriousFault(page, '/timeline?view=table');
  await expect(page.getByRole('button', { name: 'Next page' })).toBeVisible();
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('nor has a job of which nobody is told', async ({ signedIn: page }) => {
  const job = await made(page, 'Tell nobody', { alarm_policy: { channels: ['There is no such channel'] } });
  await page.goto(`/jobs/${job}`);
  await expect(page.getByRole('link', { name: 'Set one up' })).toBeVisible();
  await hasNoSeriousFault(page, `/jobs/${job}`);
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('nor has what finds, replaces and leads to a line of code, in the language of the page', async ({
  signedIn: page,
}) => {
  test.setTimeout(3 * 60_000);
  await page.goto(`/scripts/${jobs['Clean the archive']}`);
  const editor = page.locator('.code-editor .cm-content');
  await editor.click();
  await page.keyboard.press('Control+f');
  await page.keyboard.type('e');
  await page.keyboard.press('Enter');
  await editor.click();
  const WORDS = {
    en: ['Find', 'Go to line'],
    'zh-CN': ['查找', '转到行'],
    fr: ['Chercher', 'Aller à la ligne'],
  } as const;
  for (const language of LANGUAGES) {
    await showsLanguage(page, language);
    const [find, line] = WORDS[language];
    const panel = page.locator('.cm-panels');
    await expect(panel.getByRole('textbox', { name: find })).toHaveValue('e');
    await editor.focus();
    await page.keyboard.press('Control+Alt+g');
    await expect(panel.getByRole('textbox', { name: line })).toBeVisible();
    for (const theme of ['light', 'dark'] as const) {
      await showsTheme(page, theme);
      const axe = new AxeBuilder({ page }).include('.code-editor').withTags(RULES);
      expect.soft(await seriousFaults(axe), `${language}, ${theme}`).toEqual([]);
    }
    const parts = await panel.locator('button, input').all();
    for (const part of parts) {
      const box = await part.boundingBox();
      expect
        .soft(Math.min(box?.width ?? 0, box?.height ?? 0), await part.evaluate((one) => one.outerHTML))
        .toBeGreaterThanOrEqual(24);
    }
  }
  await expect(page.locator('.cm-searchMatch').first()).toBeVisible();
});

test('nor has an open menu of the top bar, or what says more of a word', async ({ signedIn: page }) => {
  const job = await made(page, 'Nap briefly');
  const id = await ended(page, job);
  for (const theme of ['light', 'dark'] as const) {
    await page.goto(`/executions/${id}`);
    await expect(page.getByRole('button', { name: 'Retry', exact: true })).toBeVisible();
    await showsTheme(page, theme);
    for (const menu of [/^Language/, /^Theme/, /^Signed in as/]) {
      await page.getByRole('button', { name: menu }).click();
      await expect(page.getByRole('menu')).toBeVisible();
      expect
        .soft(
          await seriousFaults(new AxeBuilder({ page }).include('.ant-dropdown').withTags(RULES)),
          `${menu}, ${theme}`,
        )
        .toEqual([]);
      await page.keyboard.press('Escape');
      await expect(page.getByRole('menu')).toBeHidden();
    }
    await page.getByRole('definition').getByRole('button', { name: 'node-1' }).hover();
    await expect(page.getByRole('tooltip')).toContainText('no coordinator owns it any more');
    expect
      .soft(await seriousFaults(new AxeBuilder({ page }).include('.ant-tooltip').withTags(RULES)), `tooltip, ${theme}`)
      .toEqual([]);
  }
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('nor has an address in a log, a message or a name that is asked for', async ({ signedIn: page }) => {
  test.setTimeout(3 * 60_000);
  const job = await made(page, 'Ask for prices', { executor_handler: 'ask' });
  const id = await ended(page, job, 'see https://prices.example/list?id=7');
  await page.goto(`/executions/${id}`);
  await expect(page.locator('.log-text').getByRole('link').first()).toBeVisible();
  for (const path of [`/executions/${id}`, `/executions/${id}/log`]) await hasNoSeriousFault(page, path);
  await page.goto(`/executions?job_id=${job}`);
  await page.getByRole('button', { name: /^Failed 200/ }).click();
  await expect(page.getByRole('dialog').getByText('no answer from').first()).toBeVisible();
  expect(await seriousFaults(new AxeBuilder({ page }).withTags(RULES)), 'the messages of a status').toEqual([]);
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('nor has a list in which a short name stands over a number, however long', async ({ signedIn: page }) => {
  test.setTimeout(3 * 60_000);
  const job = await made(page, 'Nap now');
  await ended(page, job);
  await page.goto(`/executions?job_id=${job}`);
  const number = page.locator('tr[data-row-key] [data-open]');
  await expect(number).toBeVisible();
  // The numbers of a young database are short; two links are too close where they are about as wide as each other.
  for (const long of ['#7', '#12345', '#1234567890']) {
    await number.evaluate((link, text) => {
      link.textContent = text;
    }, long);
    expect.soft(await seriousFaults(new AxeBuilder({ page }).withTags(RULES)), long).toEqual([]);
  }
  await page.goto('/jobs?text=Nap');
  await expect(page.getByRole('link', { name: 'Nap now' })).toBeVisible();
  expect.soft(await seriousFaults(new AxeBuilder({ page }).withTags(RULES)), 'jobs').toEqual([]);
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('the skip link leads to the content of the page one is on, also under a path prefix', async ({ page }) => {
  const proxy = await proxyUnderPrefix(url);
  try {
    for (const at of ['', proxy.url]) {
      await signIn(page, at);
      for (const path of ['/executions?status=failed', '/settings']) {
        await page.goto(`${at}${path}`);
        await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
        await page.keyboard.press('Tab');
        await expect(page.getByRole('link', { name: 'Skip to the content' })).toBeFocused();
        await page.keyboard.press('Enter');
        await expect(page.getByRole('main')).toBeFocused();
        await expect(page).toHaveURL(`${at}${path}`);
      }
    }
  } finally {
    await proxy.close();
  }
});

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
  await expect(page.getByText(/^Paused · \d+s ago$/)).toBeVisible();
  await page.getByRole('button', { name: 'Resume live updates' }).click();
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
});

test('in another language nothing is read out in English', async ({ signedIn: page }) => {
  const kept = JSON.stringify({ language: 'fr' });
  await page.addInitScript((preferences) => localStorage.setItem('orth.preferences', preferences), kept);
  await page.goto('/jobs');
  await expect(page.getByRole('button', { name: 'Importer', exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Vues', exact: true })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Chercher', exact: true })).toBeVisible();
  await page.goto('/jobs/new');
  await expect(page.getByRole('spinbutton').first()).toBeVisible();
  await expect(page.getByRole('button', { name: /crease Value/ })).toHaveCount(0);
});
