// On a laptop every column is seen, in a language with long words too: none lies behind those that stay, and what a tag
// says stands in one line.

import { expect, jobs, test } from './stage';

const PATHS = [
  '/jobs',
  '/executions',
  `/jobs/${jobs['Collect prices of all suppliers']}`,
  '/alarms',
  '/alarms/history',
  '/cluster',
  '/admin/tokens',
];

for (const language of ['en', 'fr']) {
  test(`at 1280 px no column is hidden and no tag broken, in ${language}`, async ({ signedIn: page }) => {
    test.slow(); // several pages
    const kept = JSON.stringify({ language });
    await page.addInitScript((preferences) => localStorage.setItem('orth.preferences', preferences), kept);
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of PATHS) {
      await page.goto(path);
      await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
      await expect(page.locator('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
      const hidden = () =>
        page
          .locator('main .ant-table-content')
          .evaluateAll((tables) => tables.map((one) => one.scrollWidth - one.clientWidth).filter((one) => one > 0));
      await expect.poll(hidden, path).toEqual([]);
      const heights = await page
        .locator('main .status-tag')
        .evaluateAll((tags) => tags.map((one) => one.getBoundingClientRect().height));
      expect(Math.max(0, ...heights), `${path}: the highest tag`).toBeLessThan(26); // two lines have more
    }
  });
}
