// A telephone, or a page enlarged to 400 %: one scrolls down, never sideways, but inside a table, a log or a chart.

import type { Page } from '@playwright/test';
import { call, ended, made, twins } from './calling';
import { expect, jobs, test } from './stage';
import { tooWide } from './width';

/** What is around a page takes a moment to follow its window. */
const unfolds = expect.configure({ soft: true, timeout: 2_000 });

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

/** A job of weekdays, for whose form there is little room, and an execution with shards; their paths. */
async function wideOnes(page: Page): Promise<{ paths: string[]; remove: () => Promise<void> }> {
  const weekly = { schedule_type: 'CRON', schedule_conf: '0 0 8 ? * MON-FRI' };
  const job = await made(page, 'Open the shop', weekly);
  const spread = { job_group: await twins(page), executor_route_strategy: 'SHARDING_BROADCAST' };
  const broadcast = await made(page, 'Spread it in a narrow place', spread, true);
  const id = await ended(page, broadcast);
  const often = jobs['Greet the customers'] ?? 0; // each run is a bar beside the others
  for (let run = 0; run < 40; run++) await call(page, 'POST', `/jobs/${often}/trigger`, {});
  await ended(page, often);
  return {
    paths: [`/jobs/${job}/edit`, `/executions/${id}`],
    remove: async () => {
      for (const one of [job, broadcast]) await call(page, 'DELETE', `/jobs/${one}`);
    },
  };
}

test('at 320 and 390 px no page is wider than the window', async ({ signedIn: page }) => {
  test.setTimeout(6 * 60_000); // every page, in two languages
  const { paths, remove } = await wideOnes(page);
  const open = async (path: string) => {
    await page.goto(path);
    await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
    await expect(page.locator('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
  };
  for (const path of [...PATHS, ...paths]) {
    await page.setViewportSize({ width: 320, height: 800 });
    await open(path);
    expect.soft(await tooWide(page), `${path} at 320`).toEqual([]);
    await page.setViewportSize({ width: 390, height: 800 });
    await unfolds.poll(() => tooWide(page), `${path} at 390`).toEqual([]);
  }
  // The words of French are longer.
  await page.addInitScript(() => localStorage.setItem('orth.preferences', JSON.stringify({ language: 'fr' })));
  await page.setViewportSize({ width: 320, height: 800 });
  for (const path of [...PATHS, ...paths]) {
    await open(path);
    expect.soft(await tooWide(page), `${path} at 320 in French`).toEqual([]);
  }
  await remove();
});

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

test('at 390 px no date of a chart runs into the next, and who led stands beside when', async ({ signedIn: page }) => {
  await page.setViewportSize({ width: 390, height: 800 });
  const overlaps = (things: string) =>
    page.locator(things).evaluateAll((found) =>
      found.flatMap((one, index) => {
        const next = found[index + 1]?.getBoundingClientRect();
        const { right, bottom, top } = one.getBoundingClientRect();
        return next && next.top < bottom && next.bottom > top && next.left < right && next.right > right ? [index] : [];
      }),
    );
  await page.goto(`/jobs/${jobs['Collect prices of all suppliers']}`);
  await expect(page.locator('.histogram-ticks').first().locator('span').first()).toBeVisible();
  expect(await overlaps('.histogram-ticks span')).toEqual([]);
  await page.goto('/cluster');
  await expect(page.locator('.past-terms li').first()).toBeVisible();
  expect(await overlaps('.past-terms li:first-child > span')).toEqual([]);
});

for (const width of [640, 890]) {
  test(`at ${width} px the time zone can be chosen`, async ({ signedIn: page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.goto('/settings');
    await page.getByRole('main').getByRole('combobox', { name: 'Time zone of what is shown' }).fill('Tokyo');
    await page.getByTitle('Asia/Tokyo', { exact: true }).click();
    await expect(page.getByRole('group', { name: 'Time zone' })).toContainText('Asia/Tokyo');
  });
}

test('where the navigation has no room for words, each icon tells its page', async ({ signedIn: page }) => {
  await page.setViewportSize({ width: 800, height: 800 });
  await page.goto('/settings');
  await page.getByRole('link', { name: 'Executors', exact: true }).hover();
  await expect(page.getByRole('tooltip', { name: 'Executors' })).toBeVisible();
});
