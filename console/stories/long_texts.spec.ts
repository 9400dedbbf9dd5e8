// What has no place to break a line, such as a signed address in an error, breaks all the same.

import type { Page } from '@playwright/test';
import { call, ended, made } from './calling';
import { expect, jobs, test } from './stage';
import { tooWide } from './width';

const ADDRESS = `https://files.example/prices?signature=${'0123456789abcdef'.repeat(120)}`;
const LINE = 'L'.repeat(255);
const WIDTHS = [1440, 1024, 390];
/** What is around a page takes a moment to fold when the window gets narrower. */
const fits = expect.configure({ soft: true, timeout: 2_000 });

async function keepsWithin(page: Page, path: string, shown: RegExp | string): Promise<void> {
  await page.goto(path);
  await expect(page.getByText(shown).first(), path).toBeAttached();
  await expect(page.locator('main').locator('.ant-skeleton, .ant-spin-spinning')).toHaveCount(0);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await fits.poll(() => tooWide(page), `${path} at ${width}`).toEqual([]);
  }
}

test('a long address in an error, a parameter or a reason makes no page wider', async ({ signedIn: page }) => {
  const fields = { executor_handler: 'ask', executor_param: ADDRESS, author: 'A'.repeat(60), tags: ['T'.repeat(30)] };
  const job = await made(page, 'Ask a far supplier', fields);
  const id = await ended(page, job, ADDRESS);
  const silence = await call(page, 'POST', '/alarms/silences', {
    job_id: jobs['Nightly report'],
    lasts: '1h',
    reason: LINE,
  });
  const place = { url: `https://alarms.example/${LINE}`, preset: 'slack' };
  const channel = await call(page, 'POST', '/alarms/channels', {
    name: 'N'.repeat(64),
    kind: 'webhook',
    definition: place,
  });

  const pages: Record<string, RegExp | string> = {
    [`/executions/${id}`]: /no answer from/,
    [`/executions/${id}?tab=messages`]: /no answer from/,
    [`/executions/${id}?tab=params`]: /signature=/,
    [`/executions/${id}?tab=events`]: /no answer from/,
    [`/executions/${id}/log`]: /no answer from/,
    [`/executions?job_id=${job}`]: 'Ask a far supplier',
    [`/jobs/${job}`]: /signature=/,
    [`/jobs/${job}/edit`]: 'Edit Ask a far supplier',
    '/jobs?text=far': 'Ask a far supplier',
    '/': 'Ask a far supplier',
    '/alarms': 'Ask a far supplier',
    '/alarms/history': 'Ask a far supplier',
    '/alarms/silences': LINE,
    '/alarms/channels': /alarms\.example/,
    '/admin/audit': 'job.create',
  };
  for (const [path, shown] of Object.entries(pages)) await keepsWithin(page, path, shown);

  await call(page, 'DELETE', `/alarms/silences/${silence.id}`);
  await call(page, 'DELETE', `/alarms/channels/${channel.id}`);
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('nor the messages behind a status, or what changed in the audit', async ({ signedIn: page }) => {
  const job = await made(page, 'Ask a far supplier again', { executor_handler: 'ask', executor_param: ADDRESS });
  await ended(page, job, ADDRESS);
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await page.goto(`/executions?job_id=${job}`);
    await page.getByRole('button', { name: /^Failed 200/ }).click();
    const messages = page.getByRole('dialog');
    await expect(messages.locator('.why-box')).toContainText('no answer from');
    await fits.poll(() => tooWide(page), `the messages at ${width}`).toEqual([]);
    await page.goto(`/admin/audit?object=job:${job}`);
    await page.locator('tbody').getByRole('button').first().click();
    await expect(page.locator('.audit-after').getByText('signature=')).toBeAttached();
    await fits.poll(() => tooWide(page), `the audit at ${width}`).toEqual([]);
  }
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('a long error does not push the log away', async ({ signedIn: page }) => {
  const job = await made(page, 'Ask a supplier at length', { executor_handler: 'ask' });
  const id = await ended(page, job, `${ADDRESS}${'&page=7'.repeat(900)}`);
  await page.goto(`/executions/${id}`);
  const why = page.locator('.why-box');
  await expect(why).toContainText('no answer from');
  expect((await why.boundingBox())?.height).toBeLessThan(420);
  await call(page, 'DELETE', `/jobs/${job}`);
});

for (const language of ['en', 'fr', 'zh-CN']) {
  test(`durations, bars and schedules of Jobs are whole in ${language}`, async ({ signedIn: page }) => {
    const often = await made(page, 'Ask all suppliers by day', {
      schedule_type: 'CRON',
      schedule_conf: '0 30 8-18 ? * MON-FRI',
      tags: ['whole'],
    });
    for (let run = 0; run < 10; run++) await ended(page, often);
    await call(page, 'PATCH', '/auth/preferences', { chosen: { language } });
    await page.route(/\/jobs\/board/, async (route) => {
      const answer = await route.fetch();
      const found = await answer.json();
      for (const { runs } of found.items as { runs: { duration_ms: number | null }[] }[]) {
        for (const run of runs.filter((one) => one.duration_ms !== null)) run.duration_ms = 35_997_000;
      }
      await route.fulfill({ response: answer, json: found });
    });
    await page.goto('/jobs?tag=whole');
    const cell = page.locator('.runs-cell').first();
    await expect(cell.locator(':scope > span')).toHaveText(/^10 (h|小时) 00 (min|分钟)$/);
    const heights = await cell
      .locator(':scope > span')
      .evaluate((one) => [one.getBoundingClientRect().height, Number.parseFloat(getComputedStyle(one).lineHeight)]);
    expect(heights[0]).toBeLessThan(1.5 * (heights[1] as number));
    const bars = await cell.locator('svg').evaluate((one) => [one.clientWidth, Number(one.getAttribute('width'))]);
    expect(bars[0]).toBe(bars[1]);
    const words = page.locator('.schedule-text > :first-child').first();
    await expect(words).toHaveText(/30.*18:59/);
    const cut = await words.evaluate((one) => [one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight]);
    expect(Math.max(...cut)).toBeLessThanOrEqual(0);
    expect(await tooWide(page)).toEqual([]);
    await call(page, 'POST', `/jobs/bulk/delete?id=${often}`);
  });
}

/** Schedules as most jobs have them, and what their words hold in every language. */
const USUAL: Record<string, { schedule_type: string; schedule_conf: string; timezone: string; said: RegExp }> = {
  'Ask every ten seconds': {
    schedule_type: 'CRON',
    schedule_conf: '*/10 * * * * ?',
    timezone: 'Europe/Paris',
    said: /10/,
  },
  'Ask once': {
    schedule_type: 'AT',
    schedule_conf: '2187-11-19T21:00:58',
    timezone: 'America/Los_Angeles',
    said: /^\D*(Nov 19, 2187,|19 nov\. 2187,|2187年11月19日) 21:00:58$/,
  },
  'Ask on Monday': { schedule_type: 'CRON', schedule_conf: '0 15 6 ? * MON', timezone: 'Asia/Shanghai', said: /06:15/ },
};

for (const language of ['en', 'fr', 'zh-CN']) {
  test(`usual schedules stand in one line at 1440 px and are whole at 390 px in ${language}`, async ({
    signedIn: page,
  }) => {
    const ids = [];
    for (const [name, { said: _, ...when }] of Object.entries(USUAL)) {
      ids.push(await made(page, name, { ...when, tags: ['usual'] }));
    }
    const kept = JSON.stringify({ language });
    await page.addInitScript((preferences) => localStorage.setItem('orth.preferences', preferences), kept);
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 });
      await page.goto('/jobs?tag=usual');
      for (const [name, { said, timezone }] of Object.entries(USUAL)) {
        const cell = page.getByRole('row').filter({ hasText: name }).locator('.schedule-text');
        const words = cell.locator(':scope > :first-child');
        await expect(words).toHaveText(said);
        await expect(cell).toContainText(timezone);
        const shape = await words.evaluate((one) => ({
          lines: one.getBoundingClientRect().height / Number.parseFloat(getComputedStyle(one).lineHeight),
          cut: Math.max(one.scrollWidth - one.clientWidth, one.scrollHeight - one.clientHeight),
        }));
        expect(shape.cut, `${name} at ${width}`).toBeLessThanOrEqual(0);
        if (width === 1440) expect(shape.lines, name).toBeLessThan(1.5);
      }
    }
    await call(page, 'POST', `/jobs/bulk/delete?${ids.map((id) => `id=${id}`).join('&')}`);
  });
}
