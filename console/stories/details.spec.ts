// What the page and the tag of an execution tell of it.

import type { Page } from '@playwright/test';
import { call, ended, made, twins } from './calling';
import { expect, jobs, test } from './stage';

async function newest(page: Page, job: string, status: string): Promise<number> {
  return (await call(page, 'GET', `/executions?job_id=${jobs[job]}&status=${status}&limit=1`)).items[0].id;
}

test('which coordinator sent it is told of an execution that has ended', async ({ signedIn: page }) => {
  const id = await ended(page, jobs['Greet the customers'] ?? 0);
  const { sent_by } = await call(page, 'GET', `/executions/${id}`);
  await page.goto(`/executions/${id}`);
  const owner = page.locator('.facts > div').filter({ hasText: 'Owner' });
  await expect(owner).toContainText(sent_by);
  await page.getByRole('button', { name: 'Success 200/200' }).first().click();
  await expect(page.getByRole('dialog', { name: 'Messages behind this status' })).toContainText(
    `Coordinator${sent_by}`,
  );
});

test('what never began has no end, and its tag tells the trigger message once', async ({ signedIn: page }) => {
  const id = await newest(page, 'Send the invoices', 'trigger_failed');
  await page.goto(`/executions/${id}`);
  await page.getByRole('button', { name: 'Trigger Failed 500/0' }).first().click();
  const box = page.getByRole('dialog', { name: 'Messages behind this status' });
  await expect(box.getByRole('region', { name: 'Why' })).toContainText('for the app nobody');
  await expect(box.getByText('End', { exact: true })).toHaveCount(0);
  await expect(box.getByText('No executor is registered for app "nobody"')).toHaveCount(1);
});

test('a message that was cut says so above it, with how much of it there was', async ({ signedIn: page }) => {
  const job = await made(page, 'Ask at length', { executor_handler: 'ask' });
  const id = await ended(page, job, JSON.stringify({ address: `http://supplier.example/${'x'.repeat(60_000)}` }));
  await page.goto(`/executions/${id}?tab=messages`);
  const note = /^14,9\d\d of 120,\d{3} characters; the full text is in the log$/;
  await expect(page.getByRole('tabpanel').getByText(note)).toBeInViewport();
  await page.getByRole('button', { name: 'Failed 200/500' }).first().click();
  await expect(page.getByRole('dialog', { name: 'Messages behind this status' }).getByText(note)).toBeInViewport();
  await page.keyboard.press('Escape');
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('what happened is told in the language of the page, without words for programs', async ({ signedIn: page }) => {
  const id = await ended(page, jobs['Greet the customers'] ?? 0);
  await page.addInitScript(() => localStorage.setItem('orth.preferences', JSON.stringify({ language: 'fr' })));
  await page.goto(`/executions/${id}?tab=events`);
  const events = page.locator('.events');
  await expect(events).toContainText('a été choisi (par la stratégie Tour à tour)');
  await expect(events).toContainText('Elle s’est bien terminée');
  await expect(events).not.toContainText(/ROUND|routed|success|api/);
});

test('the bars of shards are wholly in their place, however narrow that is', async ({ signedIn: page }) => {
  const job = await made(
    page,
    'Spread it',
    { job_group: await twins(page), executor_route_strategy: 'SHARDING_BROADCAST' },
    true,
  );
  const id = await ended(page, job);
  for (const [width, height] of [
    [1280, 800],
    [390, 844],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.goto(`/executions/${id}`);
    await expect(page.locator('.span-track')).toHaveCount(2);
    const outside = () =>
      page.locator('.relatives-place').evaluate((place) => {
        const [around, bars] = [place.getBoundingClientRect(), place.querySelectorAll('.span-track')];
        return [...bars].map((bar) => bar.getBoundingClientRect()).filter((bar) => bar.right > around.right - 8).length;
      });
    await expect.poll(outside, `at ${width}`).toBe(0);
    const { levels } = await page.evaluate(() => ({
      levels: [...document.querySelectorAll('main :is(h1, h2, h3, h4)')].map((one) => Number(one.tagName[1])),
    }));
    for (const [at, level] of levels.entries()) expect(level - (levels[at - 1] ?? 0)).toBeLessThanOrEqual(1);
  }
  await call(page, 'DELETE', `/jobs/${job}`);
});
