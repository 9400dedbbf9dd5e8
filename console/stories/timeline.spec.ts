import type { Locator } from '@playwright/test';
import { call, made } from './calling';
import { expect, jobs, test } from './stage';

test('what ran and what fires next, side by side; a click opens it', async ({ signedIn: page }) => {
  await page.goto('/timeline?hours=1');
  const chart = page.getByRole('figure', { name: /Executions over time/ });
  await expect(chart.getByRole('link', { name: 'Greet the customers' })).toBeVisible();
  for (const status of ['success', 'failed', 'timeout', 'trigger_failed']) {
    await expect(chart.locator(`[data-status="${status}"]`).first()).toBeAttached();
  }
  await expect(chart.locator('.timeline-fire').first()).toBeAttached();
  const failed = chart.locator('[data-status="failed"] rect').first();
  await failed.hover();
  await expect(page.getByRole('tooltip')).toContainText('Failed 200/500');
  await failed.click();
  await expect(page).toHaveURL(/\/executions\/\d+$/);
});

test('dragging zooms, the address keeps it, and one comes back to now', async ({ signedIn: page }) => {
  await page.goto('/timeline?hours=6');
  const plot = page.locator('.timeline-plot');
  await expect(plot.locator('[data-execution]').first()).toBeAttached();
  const box = await plot.boundingBox();
  if (!box) throw new Error('There is no chart.');
  await page.mouse.move(box.x + box.width * 0.7, box.y + 4);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.95, box.y + 4, { steps: 4 });
  await page.mouse.up();
  await expect(page).toHaveURL(/from=.*to=/);
  await page.reload();
  await expect(plot.locator('[data-execution]').first()).toBeAttached();
  await page.getByRole('button', { name: 'Back to now' }).click();
  await expect(page).not.toHaveURL(/from=/);
  await page.getByRole('button', { name: 'Zoom in' }).click();
  await expect(page).toHaveURL(/from=.*to=/);
});

/** Press until it cannot be pressed any more. */
const toTheEnd = (button: Locator) =>
  expect(async () => {
    if (await button.isEnabled()) await button.click({ timeout: 1_000 });
    await expect(button).toBeDisabled({ timeout: 50 });
  }).toPass({ timeout: 60_000, intervals: [20] });

test('zooming out and in has an end, which says why', async ({ signedIn: page }) => {
  const unexpected: Error[] = [];
  page.on('pageerror', (error) => unexpected.push(error));
  await page.goto('/timeline?hours=24');
  const out = page.getByRole('button', { name: 'Zoom out' });
  await toTheEnd(out);
  await expect(page.getByRole('button', { name: 'Zoom out: at most 31 days are shown' })).toBeDisabled();
  await page.reload();
  await expect(page.locator('.timeline-plot [data-execution]').first()).toBeAttached();
  await out.hover({ force: true });
  await expect(page.getByRole('tooltip')).toContainText('at most 31 days');
  const narrower = page.getByRole('button', { name: 'Zoom in' });
  await toTheEnd(narrower);
  await expect(narrower).toHaveAccessibleName('Zoom in: at least one second is shown');
  await expect(page.getByRole('alert')).toHaveCount(0);
  expect(unexpected).toEqual([]);
});

test('a span that cannot be looked at is told, and is not asked for', async ({ signedIn: page }) => {
  const asked: string[] = [];
  page.on('request', (request) => request.url().includes('/api/v1/executions') && asked.push(request.url()));
  for (const span of [
    'from=-000964-05-11T10:00:00.000Z&to=2026-01-30T10:00:00.000Z',
    'from=2026-01-01T00:00:00Z&to=2026-03-01T00:00:00Z',
    'from=2026-01-02T00:00:00Z&to=2026-01-01T00:00:00Z',
  ]) {
    await page.goto(`/timeline?${span}`);
    await expect(page.getByRole('alert')).toContainText(span.replace('&', ' '));
  }
  expect(asked).toEqual([]);
  await page.getByRole('button', { name: 'Remove it' }).click();
  await expect(page.getByRole('figure', { name: /Executions over time/ })).toBeVisible();
});

test('a new execution is drawn without a reload', async ({ signedIn: page }) => {
  await page.goto('/timeline?hours=1');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  const bars = page.locator('.timeline-plot [data-status="success"]');
  await expect(bars.first()).toBeAttached();
  const before = await bars.count();
  const answer = await page.evaluate(async (job) => {
    const mine = await (await fetch('/api/v1/auth/session')).json();
    const headers = { 'X-CSRF-Token': mine.csrf_token, 'Content-Type': 'application/json' };
    return (await fetch(`/api/v1/jobs/${job}/trigger`, { method: 'POST', headers, body: '{}' })).status;
  }, jobs['Greet the customers']);
  expect(answer).toBe(202);
  await expect(async () => expect(await bars.count()).toBeGreaterThan(before)).toPass({ timeout: 10_000 });
});

test('the same as a table, in rows by executor', async ({ signedIn: page }) => {
  await page.goto('/timeline?rows=executor');
  await expect(page.locator('.timeline-names')).toContainText('To come');
  await page.getByText('Table', { exact: true }).click();
  await expect(page).toHaveURL(/view=table/);
  await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
  await expect(page.getByRole('cell', { name: /To come: Greet the customers/ }).first()).toBeVisible();
});

test('rows by tag have what carries it, and what has none at the end', async ({ signedIn: page }) => {
  const job = `/jobs/${jobs['Greet the customers']}`;
  await call(page, 'PATCH', job, { tags: ['customers', 'night'] });
  await page.goto('/timeline?hours=1');
  await page.getByRole('combobox', { name: 'Rows' }).click();
  await page.getByTitle('By tag').click();
  await expect(page).toHaveURL(/rows=tag/);
  const names = page.locator('.timeline-names li > :first-child');
  await expect(names).toHaveText(['customers', 'night', 'Untagged']);
  await expect(page.locator('.timeline-fire').first()).toBeAttached();
  await call(page, 'PATCH', job, { tags: [] });
});

test('more runs at a time than there are lanes are counted', async ({ signedIn: page }) => {
  const ran: number[] = [];
  for (let number = 0; number < 6; number++) {
    const id = await made(page, `One of six at a time ${number}`, { executor_handler: 'linger', tags: ['crowd'] });
    ran.push((await call(page, 'POST', `/jobs/${id}/trigger`, {})).execution_ids[0]);
  }
  await page.goto('/timeline?hours=1&rows=tag');
  await expect(page.locator('.timeline-names li').filter({ hasText: 'crowd' })).toContainText('2 more lie on others');
  for (const id of ran) await call(page, 'POST', `/executions/${id}/kill`);
  for (const id of ran) {
    await expect.poll(async () => (await call(page, 'GET', `/executions/${id}`)).handle_time).not.toBeNull();
  }
  await call(page, 'POST', '/jobs/bulk/delete?tag=crowd');
});
