import { call } from './calling';
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
  await expect(page.locator('.timeline-covered').first()).toContainText(/\d more lies? on others/); // six ran at a time
  await expect(page.locator('.timeline-fire').first()).toBeAttached();
  await call(page, 'PATCH', job, { tags: [] });
});
