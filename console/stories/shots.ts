// Pictures of every page in both themes, for people to look at.

import { join } from 'node:path';
import { expect, jobs, test } from './stage';

const folder = process.env.ORTH_STORY_SHOTS ?? 'build/shots';

const PAGES: Record<string, string> = {
  dashboard: '/',
  executions: '/executions',
  'executions-of-a-job': `/executions?job_id=${jobs['Collect prices of all suppliers']}`,
  'executions-none': '/executions?text=there-is-no-such-text',
  executors: '/executors',
  lifecycle: '/lifecycle',
  cluster: '/cluster',
  'not-found': '/no/such/page',
};

for (const theme of ['light', 'dark'] as const) {
  test(`pages in ${theme}`, async ({ signedIn: page }) => {
    await page.addInitScript((chosen) => localStorage.setItem('orth.preferences', `{"theme":"${chosen}"}`), theme);
    for (const [name, path] of Object.entries(PAGES)) {
      await page.goto(path);
      await expect(page.getByRole('main')).toBeVisible();
      await page.waitForLoadState('networkidle');
      await page.screenshot({ path: join(folder, `${name}-${theme}.png`) });
    }
    await page.goto('/executions?status=failed');
    await page.getByRole('button', { name: 'Failed 200/500' }).first().click();
    await expect(page.getByRole('dialog')).toContainText('Why');
    await expect(page.locator('.ant-popover')).toHaveCSS('opacity', '1');
    await page.screenshot({ path: join(folder, `status-details-${theme}.png`) });
  });

  test(`signing in, in ${theme}`, async ({ page }) => {
    await page.addInitScript((chosen) => localStorage.setItem('orth.preferences', `{"theme":"${chosen}"}`), theme);
    await page.goto('/login');
    await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible();
    await page.screenshot({ path: join(folder, `login-${theme}.png`) });
  });
}
