// Pictures of every page in both themes, for people to look at.

import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { expect, jobs, test } from './stage';

const folder = process.env.ORTH_STORY_SHOTS ?? 'build/shots';

const PAGES: Record<string, string> = {
  dashboard: '/',
  jobs: '/jobs',
  'jobs-none': '/jobs?text=there-is-no-such-job',
  'job-new': '/jobs/new',
  job: `/jobs/${jobs['Greet the customers']}`,
  'job-edit': `/jobs/${jobs['Nightly report']}/edit`,
  executions: '/executions',
  'executions-of-a-job': `/executions?job_id=${jobs['Collect prices of all suppliers']}`,
  'executions-none': '/executions?text=there-is-no-such-text',
  executors: '/executors',
  lifecycle: '/lifecycle',
  cluster: '/cluster',
  alarms: '/alarms',
  'alarm-history': '/alarms/history',
  'alarm-rules': '/alarms/rules',
  'alarm-channels': '/alarms/channels',
  'alarm-silences': '/alarms/silences',
  scripts: '/scripts',
  script: `/scripts/${jobs['Clean the archive']}`,
  users: '/admin/users',
  tokens: '/admin/tokens',
  secrets: '/admin/secrets',
  audit: '/admin/audit',
  settings: '/settings',
  account: '/account',
  timeline: '/timeline?hours=1',
  'timeline-table': '/timeline?view=table',
  'not-found': '/no/such/page',
};

/** Where there is most to see: shown in every language, and on screens of every width. */
const DENSE = ['dashboard', 'jobs', 'executions', 'job', 'job-edit', 'cluster', 'executors'] as const;
const WIDTHS = [390, 1280, 1920];

function prefer(page: Page, preferences: Record<string, string>): Promise<unknown> {
  return page.addInitScript((said) => localStorage.setItem('orth.preferences', said), JSON.stringify(preferences));
}

/** A page when all it asks for has come. */
async function show(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
  await page.waitForLoadState('networkidle');
  await expect(page.locator('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
  if (/\/(new|edit)$/.test(path)) await expect(page.locator('.fire-list li').first()).toBeVisible();
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.screenshot({ path: join(folder, `${name}.png`) });
}

/** The log of a failed execution, when its lines are to be seen. */
async function showExecution(page: Page): Promise<void> {
  await page.goto(`/executions?job_id=${jobs['Collect prices of all suppliers']}`);
  const failed = page.getByRole('link', { name: /^#\d+$/ }).first();
  await page.goto(`${await failed.getAttribute('href')}`);
  await expect(page.getByRole('log').getByText('the supplier sent no prices').last()).toBeVisible();
}

for (const theme of ['light', 'dark'] as const) {
  test(`pages in ${theme}`, async ({ signedIn: page }) => {
    await prefer(page, { theme });
    for (const [name, path] of Object.entries(PAGES)) {
      await show(page, path);
      await shoot(page, `${name}-${theme}`);
    }
    await showExecution(page);
    await shoot(page, `execution-${theme}`);
    await page.getByRole('link', { name: 'Full screen' }).click();
    await expect(page).toHaveURL(/\/log$/);
    await page.mouse.move(0, 0); // the name of what was clicked goes
    await expect(page.getByRole('tooltip')).toHaveCount(0);
    await expect(page.getByRole('log').getByText('the supplier sent no prices').last()).toBeVisible();
    await shoot(page, `log-${theme}`);
    await page.goto('/executions?status=failed');
    await page.getByRole('button', { name: 'Failed 200/500' }).first().click();
    await expect(page.getByRole('dialog')).toContainText('Why');
    await expect(page.locator('.ant-popover')).toHaveCSS('opacity', '1');
    await shoot(page, `status-details-${theme}`);
    await page.goto('/');
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.keyboard.press('?');
    await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toHaveCSS('opacity', '1');
    await shoot(page, `keys-${theme}`);
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or do' }).fill('greet');
    await expect(page.getByRole('option', { name: /^Run Greet/ }).first()).toBeVisible();
    await shoot(page, `palette-${theme}`);
  });

  test(`signing in, in ${theme}`, async ({ page }) => {
    await prefer(page, { theme });
    await page.goto('/login');
    await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible();
    await shoot(page, `login-${theme}`);
  });
}

for (const language of ['zh-CN', 'fr']) {
  test(`the densest pages in ${language}`, async ({ signedIn: page }) => {
    await prefer(page, { theme: 'light', language });
    for (const name of DENSE) {
      await show(page, PAGES[name] ?? '/');
      await shoot(page, `${name}-${language}`);
    }
    await showExecution(page);
    await shoot(page, `execution-${language}`);
  });
}

for (const width of WIDTHS) {
  test(`the densest pages ${width} pixels wide`, async ({ signedIn: page }) => {
    await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
    await prefer(page, { theme: 'light' });
    for (const name of DENSE) {
      await show(page, PAGES[name] ?? '/');
      await shoot(page, `${name}-${width}`);
    }
    await showExecution(page);
    await shoot(page, `execution-${width}`);
  });
}
