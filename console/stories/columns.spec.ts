// On a laptop every column is seen, in a language with long words too: none lies behind those that stay, and what a tag
// says stands in one line.

import { call, ended, made } from './calling';
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

/** As long as a name may be that is shown whole. */
const NAME = 'Send the weekly invoices';

for (const language of ['en', 'fr', 'zh-CN']) {
  test(`at 1280 px names of 24 letters and zones are whole, in ${language}`, async ({ signedIn: page }) => {
    const when = { schedule_type: 'CRON', schedule_conf: '0 30 2 * * ?', timezone: 'America/Los_Angeles' };
    const job = await made(page, NAME, { executor_handler: 'stumble', ...when });
    await call(page, 'POST', `/jobs/${job}/start`);
    await ended(page, job);
    const kept = JSON.stringify({ language });
    await page.addInitScript((preferences) => localStorage.setItem('orth.preferences', preferences), kept);
    await page.setViewportSize({ width: 1280, height: 800 });
    for (const path of ['/', '/jobs', `/executions?job_id=${job}`, '/timeline', '/alarms']) {
      await page.goto(path);
      const names = page.getByRole('main').getByRole('link', { name: NAME, exact: true });
      await expect(names.first(), path).toBeVisible();
      const cut = () =>
        names.evaluateAll((all) =>
          all
            .filter((one) => one.scrollWidth > one.clientWidth || one.scrollHeight > one.clientHeight + 1)
            .map((one) => one.outerHTML),
        );
      await expect.poll(cut, path).toEqual([]);
    }
    await page.goto('/jobs');
    const zone = page.getByText('America/Los_Angeles').first();
    await expect(zone).toBeVisible();
    expect(await zone.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    await call(page, 'DELETE', `/jobs/${job}`);
  });
}
