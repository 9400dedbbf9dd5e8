// One execution and its log: live, long, harmless, and retried by keyboard.

import type { APIRequestContext, Page } from '@playwright/test';
import { twins } from './calling';
import { expect, jobs, test } from './stage';

/** Ask the API for something, as the person who is signed in. */
async function ask(page: Page, path: string) {
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  const answer = await page.request.post(path, { headers: { 'X-CSRF-Token': csrf_token }, data: {} });
  expect(answer.status()).toBe(202);
  return answer.json();
}

/** Run a job; the id of the execution. */
async function run(page: Page, job: string): Promise<number> {
  return (await ask(page, `/api/v1/jobs/${jobs[job]}/trigger`)).execution_ids[0];
}

test.afterEach(async ({ signedIn: page }) => {
  await ask(page, `/api/v1/executions/bulk/kill?job_id=${jobs['Talk to the suppliers']}`);
});

async function ended(request: APIRequestContext, id: number, within = 60_000): Promise<void> {
  await expect
    .poll(async () => (await (await request.get(`/api/v1/executions/${id}`)).json()).phase, { timeout: within })
    .toBe('ended');
}

const log = (page: Page) => page.getByRole('log', { name: 'Log' });

test('a running job is seen line by line, with its progress, and ended', async ({ signedIn: page }) => {
  const id = await run(page, 'Talk to the suppliers');
  await page.goto(`/executions/${id}`);
  await expect(page.getByRole('heading', { level: 1, name: 'Talk to the suppliers' })).toBeVisible();
  await expect(page.locator('.log-foot').getByText('Live')).toBeVisible();
  const said = async () => [...((await log(page).textContent()) ?? '').matchAll(/said (\d+) at ([\d.]+)/g)].at(-1);
  const late: number[] = [];
  for (let line = 0; line < 5; line++) {
    const before = Number((await said())?.[1] ?? 0);
    await expect.poll(async () => Number((await said())?.[1] ?? 0), { intervals: [20] }).toBeGreaterThan(before);
    late.push(Date.now() - Number((await said())?.[2]) * 1000);
  }
  expect(Math.max(...late), `ms from written to seen: ${late}`).toBeLessThan(1_000);
  await expect(page.getByRole('region', { name: 'Progress' })).toContainText('talking');
  await expect(page.getByRole('list', { name: 'Phases of the execution' })).toContainText('Running');
  await expect(page.locator('.phase-now')).toContainText('Running');
  await page.goto(`/executions?job_id=${jobs['Talk to the suppliers']}`);
  await expect(page.getByRole('progressbar', { name: `How far execution ${id} is` })).toBeVisible();
  await page.goto(`/executions/${id}`);
  await page.getByRole('button', { name: 'Kill' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click();
  await expect(page.getByRole('button', { name: 'Failed 200/500' })).toBeVisible();
  await expect(page.locator('.log-foot').getByText('Finished')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Why' })).toContainText('Killed by admin');
});

test('reading holds still what comes, and the end is a key away', async ({ signedIn: page }) => {
  const id = await run(page, 'Talk to the suppliers');
  await page.setViewportSize({ width: 1440, height: 560 });
  await page.goto(`/executions/${id}/log`);
  await expect(page.getByRole('button', { name: 'Follow' })).toHaveAttribute('aria-pressed', 'true');
  await expect(
    log(page)
      .getByText(/said ([3-9]\d|\d{3}) at/)
      .first(),
  ).toBeVisible({ timeout: 20_000 });
  await log(page).focus();
  await page.keyboard.press('Home');
  await expect(page.getByRole('button', { name: 'Follow' })).toHaveAttribute('aria-pressed', 'false');
  await expect(page.getByRole('button', { name: /\d+ new lines?/ })).toBeVisible();
  await expect(log(page).getByText('said 1 at')).toBeVisible();
  await page.getByRole('button', { name: /\d+ new lines?/ }).click();
  await expect(page.getByRole('button', { name: 'Follow' })).toHaveAttribute('aria-pressed', 'true');
  await expect(log(page).getByText('said 1 at')).toBeHidden();
  await page.getByRole('button', { name: 'Kill' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click();
  await expect(page.locator('.log-foot').getByText('Finished')).toBeVisible();
});

test('a log of a million lines opens at once at either end, and is searched', async ({ signedIn: page, context }) => {
  const id = await run(page, 'Read the ledger');
  await ended(page.request, id);
  await page.goto(`/executions/${id}/log`);
  await expect(log(page).getByText('row 1000000 of the ledger')).toBeVisible();
  await expect(page.locator('.log-count')).toHaveText(/^1,000,00\d lines$/);

  const began = Date.now();
  await page.getByRole('button', { name: 'To the first line' }).click();
  await expect(log(page).getByText('row 1 of the ledger')).toBeVisible();
  expect(Date.now() - began).toBeLessThan(2_000);

  const quarter = log(page).getByText(/row 250\d{3} of the ledger/);
  await expect(async () => {
    // the way to the first line may still be under way, and then this one is not the last
    await log(page).evaluate((element) => element.scrollTo({ top: element.scrollHeight / 4 }));
    await expect(quarter.first()).toBeVisible({ timeout: 3_000 });
  }).toPass({ timeout: 30_000 });

  await page.getByRole('button', { name: 'To the first error' }).click();
  await expect(log(page).getByText('has no row in its middle')).toBeVisible({ timeout: 30_000 });

  await page.getByRole('textbox', { name: 'Search the whole log' }).fill('NEEDLE in');
  await page.keyboard.press('Enter');
  await expect(log(page).getByText('a needle in the haystack')).toBeVisible({ timeout: 30_000 });
  await expect(page.getByText('1 of 1', { exact: true })).toBeVisible();

  for (let part = 0; part <= 100; part++) {
    await log(page).evaluate((element, share) => element.scrollTo({ top: element.scrollHeight * share }), part / 100);
  }
  await expect(page.locator('.log-row')).not.toHaveCount(0);
  expect(await page.locator('.log-row').count()).toBeLessThan(200);
  const cdp = await context.newCDPSession(page);
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  expect(usedSize / 1e6, 'MB of memory').toBeLessThan(120);
});

test('a link leads to its line, and levels show their own', async ({ signedIn: page }) => {
  const id = await run(page, 'Try the viewer');
  await ended(page.request, id);
  await page.goto(`/executions/${id}/log#L2`);
  await expect(page.locator('.log-marked .log-number')).toHaveText('2');
  await page.getByRole('link', { name: 'Line 3', exact: true }).click();
  await expect(page).toHaveURL(/#L3$/);
  await expect(page.locator('.log-marked .log-number')).toHaveText('3');
  await page.getByRole('button', { name: 'Error', exact: true }).click();
  const rows = log(page).locator('.log-row');
  await expect(rows.first()).toContainText('Traceback (most recent call last):');
  await expect(rows.filter({ hasText: '_deeper(5)' })).toHaveClass(/log-error/);
  await expect(rows.filter({ hasText: 'ValueError: too deep' })).toHaveClass(/log-error/);
  await expect(rows.last(), 'whatever its colours').toContainText('ERROR stories.mischief: that was all');
  await expect(rows.filter({ hasText: 'green and bold' })).toHaveCount(0);
  await page.getByRole('button', { name: 'To the first error' }).click();
  await expect(page.locator('.log-marked')).toContainText('Traceback (most recent call last):');
});

test('what one sees of a line can be searched, whatever colours it has', async ({ signedIn: page }) => {
  const id = await run(page, 'Try the viewer');
  await ended(page.request, id);
  await page.goto(`/executions/${id}/log`);
  const box = page.getByRole('textbox', { name: 'Search the whole log' });
  const outcome = page.locator('.log-outcome');
  for (const text of ['mischief: that was all', 'green and bold, on red', '\\x1b[H and \\u202egnp']) {
    await box.fill(text);
    await box.press('Enter');
    await expect(outcome, text).toHaveText('1 of 1', { timeout: 15_000 });
    await expect(page.locator('.log-marked mark').first()).toBeVisible();
  }
  await box.fill('[0m');
  await box.press('Enter');
  await expect(outcome).toHaveText('Nothing found', { timeout: 15_000 });
  await box.fill('');
  await page.getByRole('button', { name: 'Regular expression' }).click();
  await box.fill('^ERROR');
  await box.press('Enter');
  await expect(outcome).toHaveText('1 of 1', { timeout: 15_000 });
  await expect(page.locator('.log-marked mark')).toHaveText('ERROR');
});

test('a search and a level stay chosen together', async ({ signedIn: page }) => {
  const id = await run(page, 'Read the ledger');
  await ended(page.request, id);
  await page.goto(`/executions/${id}/log`);
  const outcome = page.locator('.log-outcome');
  await page.getByRole('textbox', { name: 'Search the whole log' }).fill('row');
  await page.keyboard.press('Enter');
  await expect(outcome).toContainText('of 1,000+', { timeout: 30_000 });
  const error = page.getByRole('button', { name: 'Error', exact: true });
  await error.click();
  await expect(outcome).toHaveText('1 found', { timeout: 30_000 });
  await expect(log(page).locator('.log-row')).toHaveCount(1);

  const box = page.getByRole('textbox', { name: 'Search the lines of these levels' });
  await box.press('Enter');
  await expect(outcome).toHaveText('1 of 1');
  await expect(error).toHaveAttribute('aria-pressed', 'true');
  await expect(page.locator('.log-marked')).toContainText('has no row in its middle');
  await box.fill('row 7777');
  await box.press('Enter');
  await expect(outcome).toHaveText('Nothing found', { timeout: 30_000 });
  await expect(log(page).or(page.locator('.log-none'))).toContainText('No line of these levels has');

  await error.click();
  await page.getByRole('button', { name: 'Info', exact: true }).click();
  await expect(outcome).toHaveText(/ of 111$|^111 found$/, { timeout: 30_000 });
  await box.press('Enter');
  await box.press('Shift+Enter');
  await expect(outcome).toHaveText(/^\d+ of 111$/);
  await expect(page.locator('.log-marked')).toContainText('row 7777');
  await expect(page.locator('.log-marked')).toBeInViewport();
  await expect(page.getByRole('button', { name: 'Info', exact: true })).toHaveAttribute('aria-pressed', 'true');
});

test('what is searched for and the levels are in the address, and a line that is not there is told', async ({
  signedIn: page,
}) => {
  const id = await run(page, 'Try the viewer');
  await ended(page.request, id);
  await page.goto(`/executions/${id}`);
  const box = page.getByRole('textbox', { name: /^Search the / });
  const error = page.getByRole('button', { name: 'Error', exact: true });
  const outcome = page.locator('.log-outcome');
  await box.fill('too DEEP');
  await box.press('Enter');
  await expect(outcome).toContainText(/^1 of \d/);
  await error.click();
  await expect(page).toHaveURL(/\?q=too\+DEEP&level=error$/);
  for (const arrive of [() => page.reload(), () => page.getByRole('link', { name: 'Full screen' }).click()]) {
    await arrive();
    await expect(box).toHaveValue('too DEEP');
    await expect(error).toHaveAttribute('aria-pressed', 'true');
    await expect(log(page).locator('.log-row').last()).toContainText('ValueError: too deep');
    await expect(log(page).locator('mark').last()).toHaveText('too deep');
  }
  await expect(page).toHaveURL(/\/log\?q=too\+DEEP&level=error$/);
  await page.goBack();
  await page.goBack();
  await expect(error).toHaveAttribute('aria-pressed', 'false');
  await expect(box).toHaveValue('too DEEP');
  await page.goBack();
  await expect(box).toHaveValue('');

  await page.goto(`/executions/${id}/log?q=green#L3`);
  await expect(page.locator('.log-marked .log-number')).toHaveText('3');
  await expect(outcome).toHaveText('1 found');
  await expect(page.locator('.log-marked .log-number')).toHaveText('3');
  await page.goto(`/executions/${id}/log#L99999999`);
  await expect(page.getByText(/^There is no line 99,999,999: the last one is \d+$/)).toBeVisible();
  await page.goto(`/executions/${id}/log?level=bogus`);
  await expect(page.getByRole('alert')).toContainText('level=bogus');
});

test('colours, markup and a line of ten megabytes harm nobody', async ({ signedIn: page }) => {
  const id = await run(page, 'Try the viewer');
  await ended(page.request, id);
  await page.goto(`/executions/${id}/log`);
  await page.getByRole('button', { name: 'To the first line' }).click();
  await expect(log(page).locator('.ansi-green.ansi-bold')).toHaveText('green and bold');
  await expect(log(page).getByText('<script>document.title=')).toBeVisible();
  await expect(log(page).getByText('\\x1b]0;title\\x07\\x1b[2J\\x1b[H and \\u202egnp.exe')).toBeVisible();
  await expect(log(page).getByRole('link', { name: 'https://example.org/report?id=7' })).toHaveAttribute(
    'rel',
    /noopener/,
  );
  await expect(
    log(page)
      .getByRole('button', { name: /more characters/ })
      .first(),
  ).toBeVisible();
  await expect(page).toHaveTitle(/^Log of Try the viewer/);
  await page.getByRole('button', { name: 'To the end' }).click();
  const fold = log(page).getByRole('button', { name: /lines of this traceback/ });
  await expect(fold).toHaveAttribute('aria-expanded', 'false');
  await expect(log(page).getByText('ValueError: too deep')).toBeVisible();
  await expect(log(page).getByText('_deeper(5)')).toBeHidden();
  await fold.click();
  await expect(log(page).getByText('_deeper(5)')).toBeVisible();
});

test('what failed is found, read and retried by keyboard only', async ({ signedIn: page }) => {
  await page.goto(`/executions?status=failed&job_id=${jobs['Collect prices of all suppliers']}`);
  const first = page.getByRole('link', { name: /^#\d+$/ }).first();
  await first.focus();
  await page.keyboard.press('Enter');
  await expect(page.getByRole('heading', { level: 1, name: 'Collect prices of all suppliers' })).toBeVisible();
  await expect(log(page)).toContainText('the supplier sent no prices');
  const id = Number(new URL(page.url()).pathname.split('/').at(-1));
  await page.getByRole('button', { name: 'Retry' }).focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText(`Run execution ${id} again?`);
  await expect(dialog.getByRole('button', { name: 'Retry' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).not.toHaveURL(new RegExp(`/executions/${id}$`));
  await expect(dialog).toBeHidden();
  await expect(page.getByRole('button', { name: 'Failed 200/500' }).first()).toBeVisible();
  await expect(page.getByRole('table').getByRole('link', { name: 'Attempt 2' })).toBeVisible();
  await page
    .getByRole('row', { name: /Attempt 1/ })
    .getByRole('button', { name: 'Failed 200/500' })
    .press('Enter');
  await expect(dialog.getByRole('link', { name: `Execution ${id}` })).toBeVisible();
  await page.keyboard.press('Escape');
  await page.locator('#content').focus();
  await page.keyboard.press('[');
  await expect(page.getByRole('button', { name: 'Failed 200/500' }).first()).toBeVisible();
});

test('a run with another parameter is a new one, which is shown', async ({ signedIn: page }) => {
  const id = await run(page, 'Greet the customers');
  await ended(page.request, id);
  await page.goto(`/executions/${id}?tab=params`);
  await expect(page.getByRole('tabpanel')).toContainText('greeted');
  await page.getByRole('button', { name: 'Run again…' }).click();
  await page
    .getByRole('textbox', { name: 'Parameter', exact: true })
    .fill('{"for": "tomorrow", "order": 1234567890123456789}');
  await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page).not.toHaveURL(new RegExp(`/executions/${id}`));
  await page.getByRole('tab', { name: 'Parameter and result' }).click();
  await expect(page.getByRole('tabpanel')).toContainText('tomorrow');
  await expect(page.getByRole('tabpanel')).toContainText('"order": 1234567890123456789');
});

test('what was never taken has no log, and says why', async ({ signedIn: page }) => {
  const id = await run(page, 'Send the invoices');
  await ended(page.request, id);
  await page.goto(`/executions/${id}`);
  await expect(page.getByText('No executor had it, so nothing was written')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Why' })).toContainText('No executor is registered');
  await page.goto('/executions/none');
  await expect(page.getByText('There is no such execution')).toBeVisible();
});

test('the shards of a broadcast are read as one log, each line with its shard', async ({ signedIn: page }) => {
  const body = { job_group: await twins(page), job_desc: 'Spread the word', executor_handler: 'greet' };
  const spread = { ...body, executor_route_strategy: 'SHARDING_BROADCAST' };
  const job = await post(page, '/api/v1/jobs?allow_unknown_handler=true', spread);
  const { execution_ids } = await post(page, `/api/v1/jobs/${job.id}/trigger`, {});
  expect(execution_ids).toHaveLength(2);
  for (const id of execution_ids) await ended(page.request, id);
  await page.goto(`/executions/${execution_ids[0]}`);
  const phases = page.getByRole('list', { name: 'Phases of the execution' });
  await expect(phases.getByRole('listitem').filter({ hasText: 'Dispatched' }).locator('time')).toBeVisible();
  await page.getByRole('tab', { name: 'Log of all shards' }).click();
  const lines = page.getByRole('log', { name: 'Log of all shards' });
  for (const shard of ['Shard 0', 'Shard 1']) {
    await expect(lines.locator('.log-row').filter({ hasText: shard }).filter({ hasText: 'hello' })).toBeVisible();
  }
  for (const [index, id] of execution_ids.entries()) {
    await page.goto(`/executions/${id}`); // by the numbers that handlers have, from 0 on
    await expect(page.locator('.facts')).toContainText(`Shard${index} of 2`);
    await expect(page.locator('.relatives [aria-current]')).toContainText(`Shard ${index}#${id}`);
    await page.goto(`/executions?job_id=${job.id}`);
    await expect(page.getByRole('row', { name: `#${id}` })).toContainText(`shard ${index} of 2`);
  }
});

test('what shards write is told as they write it, and not asked for', async ({ signedIn: page }) => {
  const spread = {
    executor_route_strategy: 'SHARDING_BROADCAST',
    executor_handler: 'chatter',
    executor_concurrency: 2,
  };
  const body = { job_group: await twins(page), job_desc: 'Spread it slowly', ...spread };
  const job = await post(page, '/api/v1/jobs?allow_unknown_handler=true', body);
  const { execution_ids } = await post(page, `/api/v1/jobs/${job.id}/trigger`, {});
  const streams: string[] = [];
  page.on('websocket', (line) => streams.push(line.url()));
  await page.goto(`/executions/${execution_ids[0]}`);
  await page.getByRole('tab', { name: 'Log of all shards' }).click();
  const rows = page.getByRole('log', { name: 'Log of all shards' }).locator('.log-row');
  await expect(rows.first()).toBeVisible();
  for (const id of execution_ids) {
    await expect.poll(() => streams.some((one) => one.includes(`/executions/${id}/log/ws`))).toBe(true);
  }
  const asked: string[] = [];
  page.on('request', (request) => {
    if (/\/log\?.*(tail=|limit=1000)/.test(request.url())) asked.push(request.url());
  });
  for (let more = 0; more < 3; more++) {
    const last = await rows.last().textContent(); // only rows in view are on the page, so their number may stay
    await expect.poll(() => rows.last().textContent(), { timeout: 15_000 }).not.toBe(last);
  }
  expect(asked, 'questions for lines').toEqual([]);
  await post(page, `/api/v1/executions/bulk/kill?job_id=${job.id}`, {});
});

async function post(page: Page, path: string, data: object) {
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  const answer = await page.request.post(path, { headers: { 'X-CSRF-Token': csrf_token }, data });
  expect(answer.ok(), `${path}: ${answer.status()}`).toBe(true);
  return answer.json();
}

test('following goes on among the lines of a level', async ({ signedIn: page }) => {
  const id = await run(page, 'Talk to the suppliers');
  await page.setViewportSize({ width: 1440, height: 560 });
  await page.goto(`/executions/${id}/log`);
  const follow = page.getByRole('button', { name: 'Follow' });
  const latest = async () =>
    Math.max(
      ...(
        await log(page)
          .getByText(/said \d+ at/)
          .allTextContents()
      ).map((text) => Number(/said (\d+)/.exec(text)?.[1])),
    );
  const fromEnd = () => log(page).evaluate((list) => list.scrollHeight - list.scrollTop - list.clientHeight);
  await expect.poll(latest, { timeout: 30_000 }).toBeGreaterThan(40);
  await page.getByRole('button', { name: 'Warning', exact: true }).click();
  await expect(page.locator('.log-row').filter({ hasNotText: /said \d+ at/ })).toHaveCount(0);
  await expect(follow).toHaveAttribute('aria-pressed', 'true');
  await expect.poll(latest).toBeGreaterThan(40);
  const before = await latest();
  await expect.poll(latest).toBeGreaterThan(before + 5);
  await expect.poll(fromEnd).toBeLessThan(5);

  await log(page).hover();
  await page.mouse.wheel(0, -10_000);
  await expect(follow).toHaveAttribute('aria-pressed', 'false');
  await expect(log(page).getByText('said 1 at')).toBeVisible();
  await expect(page.getByRole('button', { name: /\d+ new lines?/ })).toBeVisible();
  await expect(log(page).getByText('said 1 at')).toBeVisible();
  const written = async () =>
    Number(
      await page
        .locator('.log-count')
        .textContent()
        .then((text) => text?.split(' ')[0]),
    );
  const then = await written();
  for (const level of ['Warning', 'Error']) await page.getByRole('button', { name: level, exact: true }).click();
  await expect.poll(written).toBeGreaterThan(then + 10);
  await expect(page.getByRole('button', { name: /\d+ new lines?/ }), 'none of the chosen level is new').toHaveCount(0);
  for (const level of ['Warning', 'Error']) await page.getByRole('button', { name: level, exact: true }).click();
  if ((await follow.getAttribute('aria-pressed')) === 'false') await follow.click();
  await expect.poll(latest).toBeGreaterThan(before);
  await expect.poll(fromEnd).toBeLessThan(5);
  await page.getByRole('button', { name: 'Kill' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Kill' }).click();
  await expect(page.locator('.log-foot').getByText('Finished')).toBeVisible();
});
