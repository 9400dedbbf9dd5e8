// A file of the console that cannot be fetched: one is told, and gets the page once it can be.

import type { Page } from '@playwright/test';
import { expect, test as story } from './stage';

/** Browsers complain of every file they cannot get, which is what these stories are about. */
const test = story.extend({ refusals: [404] });

const lost = (page: Page) => page.getByRole('main').getByText('This page could not be loaded');

async function goTo(page: Page, name: string): Promise<void> {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click();
}

async function without(page: Page, files: RegExp): Promise<void> {
  await page.route(files, (route) => route.fulfill({ status: 404, body: 'gone' }));
}

test.beforeEach(async ({ signedIn: page }) => {
  // A file that the browser has kept from the story before cannot be lost.
  await page.route(/\/assets\//, (route) => route.continue());
});

for (const [what, files] of [
  ['page', /\/assets\/Timeline-[^/]*\.js/],
  ['style', /\/assets\/Timeline-[^/]*\.css/],
  ['texts', /\/assets\/timeline-[^/]*\.js/],
] as const) {
  test(`a ${what} that cannot be fetched is said, and fetched when one comes again`, async ({ signedIn: page }) => {
    await page.goto('/executions');
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    await without(page, files);
    await goTo(page, 'Timeline');
    await expect(lost(page)).toBeVisible();
    await expect(page.getByText(/Orth has been updated/)).toBeVisible();
    await page.unroute(files);
    await goTo(page, 'Executions');
    await expect(page.getByRole('heading', { level: 1, name: 'Executions' })).toBeVisible();
    await goTo(page, 'Timeline');
    await expect(page.getByRole('heading', { level: 1, name: 'Timeline' })).toBeVisible();
    const styled = page.locator('link[rel=stylesheet][href*="Timeline-"]');
    await expect.poll(() => styled.evaluateAll((all) => all.some((one) => (one as HTMLLinkElement).sheet))).toBe(true);
  });
}

test('a page opened by its address says so as well, and Reload brings it', async ({ signedIn: page }) => {
  await without(page, /\/assets\/Timeline-[^/]*\.js/);
  await page.goto('/timeline');
  await expect(lost(page)).toBeVisible();
  await page.unroute(/\/assets\/Timeline-[^/]*\.js/);
  await page.getByRole('button', { name: 'Reload' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Timeline' })).toBeVisible();
});

test('a page that was asked for while the server was away comes by itself', async ({ signedIn: page }) => {
  let away = false;
  let cut = () => {};
  await page.routeWebSocket(/\/api\/v1\/changes/, (line) => {
    if (away) void line.close({ code: 1012 });
    else line.connectToServer();
    cut = () => void line.close({ code: 1012 });
  });
  await page.goto('/executions');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  away = true;
  await without(page, /\/assets\//);
  cut();
  await expect(page.getByText('Disconnected', { exact: true })).toBeVisible();
  await goTo(page, 'Timeline');
  await expect(lost(page)).toBeVisible();
  await expect(page.getByText('The page comes by itself')).toBeVisible();
  await page.unroute(/\/assets\//);
  away = false;
  await page.getByRole('button', { name: 'Retry now' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Timeline' })).toBeVisible();
});

test('no names of texts are shown while the texts of a part are lost', async ({ signedIn: page }) => {
  await page.goto('/executions');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await without(page, /\/assets\/log-[^/]*\.js/);
  await page.getByRole('main').locator('a[href*="/executions/"]').first().click();
  await expect(lost(page)).toBeVisible();
  await page.unroute(/\/assets\/log-[^/]*\.js/);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  await expect(lost(page)).toHaveCount(0);
});

test('a palette that cannot be fetched is said, and the page goes on', async ({ signedIn: page }) => {
  await page.goto('/executions');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await without(page, /\/assets\/Palette-[^/]*\.js/);
  await page.keyboard.press('Control+k');
  await expect(page.getByText('This part of the page could not be loaded')).toBeVisible();
  await expect(page.getByRole('heading', { level: 1, name: 'Executions' })).toBeVisible();
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Jobs' })).toBeVisible();
});
