// However long names are, what one presses stays where it can be pressed.

import type { Locator, Page } from '@playwright/test';
import { expect, test } from './stage';

const LONG = 'W'.repeat(255);

async function token(page: Page): Promise<Record<string, string>> {
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  return { 'X-CSRF-Token': csrf_token };
}

async function call<T>(page: Page, path: string, data: object): Promise<T> {
  const answer = await page.request.post(`/api/v1/${path}`, { headers: await token(page), data });
  expect(answer.ok(), await answer.text()).toBe(true);
  return (await answer.json()) as T;
}

async function remove(page: Page, path: string): Promise<void> {
  const answer = await page.request.delete(`/api/v1/${path}`, { headers: await token(page) });
  expect(answer.ok(), await answer.text()).toBe(true);
}

async function seen(one: Locator): Promise<void> {
  await expect(one).toBeInViewport({ ratio: 1 });
  await one.click({ trial: true });
}

test('a name of 255 letters pushes nothing away', async ({ signedIn: page }) => {
  await page.goto('/jobs');
  const group = await call<{ id: number }>(page, 'groups', { app_name: 'long-names', title: 'T'.repeat(60) });
  const when = { schedule_type: 'CRON', schedule_conf: '0 30 2 * * ?' };
  const asked = { job_group: group.id, job_desc: LONG, executor_handler: 'h'.repeat(60), ...when };
  const job = await call<{ id: number }>(page, 'jobs?allow_unknown_handler=true', asked);
  await call(page, `jobs/${job.id}/trigger`, {});

  await page.goto(`/jobs?job_group=${group.id}`);
  await seen(page.getByRole('switch'));
  await seen(page.getByRole('button', { name: /^Edit / }));

  await page.goto(`/executions?job_id=${job.id}`);
  await seen(page.locator('tbody').getByRole('button', { name: /^Retry/ }));

  await page.goto(`/jobs/${job.id}`);
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
  const main = page.getByRole('main');
  expect(await main.evaluate((one) => one.scrollWidth - one.clientWidth), 'pixels beyond the page').toBe(0);

  await page.goto('/alarms/rules');
  await expect(page.getByText(LONG)).toBeAttached();
  await expect(page.getByRole('columnheader', { name: 'When it is well again' })).toBeInViewport({ ratio: 1 });

  for (const path of [`jobs/${job.id}`, `groups/${group.id}`]) await remove(page, path);
});

/** Tables in which some columns lie behind those that stay. */
function hiding(page: Page): Promise<string[]> {
  return page
    .locator('.ant-table-content')
    .evaluateAll((tables) =>
      tables
        .filter((one) => one.scrollWidth > one.clientWidth)
        .map((one) => `${one.scrollWidth} px in ${one.clientWidth}: ${one.querySelector('thead')?.textContent}`),
    );
}

test('no column of a list lies behind others, in any language, also on a small screen', async ({ signedIn: page }) => {
  await page.goto('/jobs');
  const when = { schedule_type: 'CRON', schedule_conf: '0 0/10 8-18 ? * MON-FRI', timezone: 'America/Buenos_Aires' };
  const named = { job_group: 2, job_desc: 'Synchronise every warehouse with the catalogues of all suppliers' };
  const handler = {
    executor_handler: 'synchronise_every_warehouse',
    author: 'somebody',
    tags: ['catalogue', 'nightly'],
  };
  const asked = { ...named, ...handler, ...when };
  const job = await call<{ id: number }>(page, 'jobs?allow_unknown_handler=true', asked);
  await call(page, `jobs/${job.id}/start`, {});
  await call(page, `jobs/${job.id}/trigger`, {});
  for (const language of ['en', 'fr', 'zh-CN']) {
    await page.evaluate((chosen) => localStorage.setItem('orth.preferences', chosen), JSON.stringify({ language }));
    for (const [path, widths] of Object.entries({
      '/jobs': [1440, 1024],
      '/executions': [1440, 1024],
      '/executors': [1440],
    })) {
      await page.goto(path);
      await expect(page.locator('html')).toHaveAttribute('lang', language);
      await expect(page.locator('main tr[data-row-key]').first()).toBeVisible();
      for (const width of widths) {
        await page.setViewportSize({ width, height: 900 });
        await expect
          .configure({ soft: true })
          .poll(() => hiding(page), `${path} at ${width} in ${language}`)
          .toEqual([]);
      }
    }
  }
  await remove(page, `jobs/${job.id}`);
});
