// How long it takes from the address to a page that shows its rows and answers: each is loaded whole, some times, with
// the program in the browser's cache, as for somebody who was here before. The figures go to a file.

import { writeFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, test } from './stage';

const TRIES = 7;

const PAGES: Record<string, string> = {
  dashboard: '/',
  jobs: '/jobs',
  executions: '/executions',
  'executions, failed': '/executions?status=failed',
  'executions of a job': '/executions?job_id=77',
  'executions of a group': '/executions?job_group=3',
  'executions of one executor': '/executions?executor=http%3A%2F%2F10.0.0.7%3A9999',
  timeline: '/timeline?hours=1&view=table',
};

/** Milliseconds until the rows are there, what was still loading is gone, and the page is free to answer. */
async function usableAfter(page: Page, path: string): Promise<number> {
  const began = Date.now();
  await page.goto(path, { waitUntil: 'commit' });
  const rows = page.getByRole('main').locator('tbody tr[data-row-key], .card-value');
  await expect(rows.first()).toBeVisible();
  await expect(page.getByRole('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
  await page.evaluate(() => new Promise((free) => setTimeout(free)));
  return Date.now() - began;
}

test('list pages can be used', async ({ signedIn: page }) => {
  const figures: Record<string, number[]> = {};
  for (const [name, path] of Object.entries(PAGES)) {
    await usableAfter(page, path); // the parts of the program this page needs are in the cache from here on
    figures[name] = [];
    for (let made = 0; made < TRIES; made += 1) figures[name].push(await usableAfter(page, path));
  }
  writeFileSync(process.env.ORTH_STORY_FIGURES ?? '/dev/stdout', JSON.stringify(figures));
});
