// A telephone, or a page enlarged to 400 %: one scrolls down, never sideways, but inside a table, a log or a chart.

import type { Page } from '@playwright/test';
import { expect, jobs, test } from './stage';

const PATHS = [
  '/',
  '/jobs',
  '/jobs/new',
  `/jobs/${jobs['Greet the customers']}`,
  '/executions',
  '/executions/1',
  '/executions/1/log',
  '/timeline',
  '/executors',
  '/lifecycle',
  '/cluster',
  '/alarms',
  '/alarms/rules',
  '/alarms/channels',
  `/scripts/${jobs['Clean the archive']}`,
  '/admin/users',
  '/admin/audit',
  '/settings',
  '/account',
];

/** How much wider than the window the page is, or its content than its place; and what sticks out. */
function tooWide(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const found: string[] = [];
    const content = document.querySelector('main');
    for (const one of [document.documentElement, content]) {
      if (!one || one.scrollWidth <= one.clientWidth) continue;
      found.push(`${one.tagName} is ${one.scrollWidth} px wide in ${one.clientWidth}`);
    }
    for (const one of document.querySelectorAll<HTMLElement>('header.top-bar button, header.top-bar .live-dot')) {
      const { left, right, width } = one.getBoundingClientRect();
      if (width > 0 && (left < 0 || right > innerWidth)) found.push(`${one.outerHTML.slice(0, 80)} lies outside`);
    }
    return found;
  });
}

for (const width of [320, 390]) {
  test(`at ${width} px no page is wider than the window`, async ({ signedIn: page }) => {
    test.slow(); // every page
    await page.setViewportSize({ width, height: 800 });
    for (const path of PATHS) {
      await page.goto(path);
      await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
      await expect(page.locator('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
      expect.soft(await tooWide(page), path).toEqual([]);
    }
  });
}

test('at 320 px the choices of the top bar are behind a button, for the keyboard too', async ({ signedIn: page }) => {
  await page.setViewportSize({ width: 320, height: 640 });
  await page.goto('/settings');
  const unfold = page.getByRole('button', { name: 'Zone, language, theme and account' });
  const account = page.getByRole('button', { name: /^Signed in as/ });
  await expect(unfold).toHaveAttribute('aria-expanded', 'false');
  await expect(account).toBeHidden();
  await unfold.press('Enter');
  await expect(account).toBeInViewport({ ratio: 1 });
  await account.press('Escape');
  await expect(account).toBeHidden();
  await expect(unfold).toBeFocused();
  await unfold.click();
  await account.click();
  await page.getByRole('menuitem', { name: 'Own account' }).click();
  await expect(page).toHaveURL(/\/account$/);
  await expect(account).toBeHidden();
});
