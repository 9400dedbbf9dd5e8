// Pictures of every page in both themes, for people to look at.

import { join } from 'node:path';
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

for (const theme of ['light', 'dark'] as const) {
  test(`pages in ${theme}`, async ({ signedIn: page }) => {
    await page.addInitScript((chosen) => localStorage.setItem('orth.preferences', `{"theme":"${chosen}"}`), theme);
    for (const [name, path] of Object.entries(PAGES)) {
      await page.goto(path);
      await expect(page.getByRole('main')).toBeVisible();
      await page.waitForLoadState('networkidle');
      await expect(page.locator('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
    }
    await page.goto(`/executions?job_id=${jobs['Collect prices of all suppliers']}`);
    await page
      .getByRole('link', { name: /^#\d+$/ })
      .first()
      .click();
    await expect(page.getByRole('log')).toContainText('the supplier sent no prices');
    await page.screenshot({ path: join(folder, `execution-${theme}.png`) });
    await page.getByRole('link', { name: 'Full screen' }).click();
    await expect(page.getByRole('log')).toContainText('the supplier sent no prices');
    await page.screenshot({ path: join(folder, `log-${theme}.png`) });
    await page.goto('/executions?status=failed');
    await page.getByRole('button', { name: 'Failed 200/500' }).first().click();
    await expect(page.getByRole('dialog')).toContainText('Why');
    await expect(page.locator('.ant-popover')).toHaveCSS('opacity', '1');
    await page.screenshot({ path: join(folder, `status-details-${theme}.png`) });
    await page.goto('/');
    await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
    await page.keyboard.press('?');
    await expect(page.getByRole('dialog', { name: 'Keyboard shortcuts' })).toHaveCSS('opacity', '1');
    await page.screenshot({ path: join(folder, `keys-${theme}.png`) });
    await page.keyboard.press('Escape');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search or do' }).fill('greet');
    await expect(page.getByRole('option', { name: /^Run Greet/ })).toBeVisible();
    await page.screenshot({ path: join(folder, `palette-${theme}.png`) });
  });

  test(`signing in, in ${theme}`, async ({ page }) => {
    await page.addInitScript((chosen) => localStorage.setItem('orth.preferences', `{"theme":"${chosen}"}`), theme);
    await page.goto('/login');
    await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible();
    await page.screenshot({ path: join(folder, `login-${theme}.png`) });
  });
}
