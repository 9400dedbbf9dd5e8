import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { call, ended, made } from './calling';
import { expect, jobs, test } from './stage';

test('a channel is made, tells its receiver in a test, and hides where it leads', async ({ signedIn: page }) => {
  const { server, received, url } = await receiver();
  try {
    await page.goto('/alarms/channels');
    await page.getByRole('button', { name: 'New channel' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name', { exact: true }).fill('operations');
    await dialog.getByLabel('URL').fill(`${url}/very-secret-path`);
    await dialog.getByRole('button', { name: 'New channel' }).click();
    const row = page.getByRole('row', { name: /operations/ });
    await expect(row).toContainText('********');
    await expect(row).not.toContainText('very-secret-path');
    await row.getByRole('button', { name: 'Test' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await expect(page.getByRole('dialog', { name: /^Delivered in/ })).toBeVisible();
    expect(received).toContain('/very-secret-path');
    await page.getByRole('button', { name: 'OK' }).click();

    await row.getByRole('button', { name: 'Edit' }).click();
    await expect(page.getByRole('dialog').getByLabel('URL')).toHaveAttribute('placeholder', 'unchanged');
    await page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('night shift');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    const renamed = page.getByRole('row', { name: /night shift/ });
    const before = received.length;
    await renamed.getByRole('button', { name: 'Test' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await expect(page.getByRole('dialog', { name: /^Delivered in/ })).toBeVisible();
    expect(received.length).toBeGreaterThan(before);
    await page.getByRole('button', { name: 'OK' }).click();
    await renamed.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await expect(renamed).toHaveCount(0);
  } finally {
    server.close();
  }
});

test('one sees what a job inherits, and a message before it is sent', async ({ signedIn: page }) => {
  await page.goto('/alarms/rules');
  const rule = page.getByRole('row', { name: /Nightly report/ });
  await expect(rule).toContainText('On call');
  await expect(rule).toContainText('4 h');
  await expect(rule.getByText('inherited')).toHaveCount(4);
  await page.getByRole('tab', { name: 'Channels' }).click();
  await page.getByRole('button', { name: 'New channel' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Template').fill('{"summary": "{{title}}", "count": "{{failures}}"}');
  await dialog.getByRole('button', { name: 'Preview' }).click();
  const shown = dialog.getByRole('region', { name: 'The message as it would be sent' });
  await expect(shown).toContainText('"summary": "Collect prices failed"');
  await expect(shown).toContainText('"count": 1');
});

test('what fails is shown and can be kept silent for a while', async ({ signedIn: page }) => {
  await page.goto('/alarms');
  const row = page.getByRole('row', { name: /Collect prices of all suppliers/ });
  await expect(row).toBeVisible();
  await row.getByRole('button', { name: 'Silence' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.getByText('Collect prices of all suppliers')).toBeVisible();
  await dialog.getByLabel('Reason').fill('the supplier moves house');
  await dialog.getByRole('button', { name: 'Silence' }).click();
  await page.getByRole('tab', { name: 'Silences' }).click();
  const silence = page.getByRole('row', { name: /the supplier moves house/ });
  await expect(silence).toContainText('Collect prices of all suppliers');
  await silence.getByRole('button', { name: 'End' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'End' }).click();
  await expect(silence).toHaveCount(0);
});

test('a job of which nobody is told is shown as failing, with the way to change that', async ({ signedIn: page }) => {
  const id = await made(page, 'Count the crates', { executor_handler: 'stumble', alarm_policy: { channels: [] } });
  await ended(page, id);
  await page.goto('/alarms');
  const row = page.getByRole('row', { name: /Count the crates/ });
  await expect(row).toContainText('nobody: no channel');
  await row.getByRole('link', { name: 'Set one up' }).click();
  await expect(page).toHaveURL(/\/alarms\/channels$/);
  await call(page, 'DELETE', `/jobs/${id}`);
});

test('the page of a job says whether it fails, who is told of it and what was', async ({ signedIn: page }) => {
  const job = jobs['Collect prices of all suppliers'];
  await page.goto(`/jobs/${job}`);
  const alarms = page.locator('.panel', { has: page.getByRole('heading', { name: 'Alarms', exact: true }) });
  await expect(alarms).toContainText(/Failing\s*\d+ failures? · since/);
  await expect(alarms).toContainText(/Told by\s*On call/);
  await expect(alarms.getByRole('listitem').first()).toContainText('On call');
  await alarms.getByRole('link', { name: 'All messages' }).click();
  await expect(page).toHaveURL(new RegExp(`/alarms/history\\?job_id=${job}$`));
  const messages = page.getByRole('region', { name: 'History' }).getByRole('table');
  await expect(messages).toContainText('Collect prices of all suppliers');
  await expect(messages).not.toContainText('Send the invoices');
  for (const strange of ['job_id=none', 'state=bogus']) {
    await page.goto(`/alarms/history?${strange}`);
    await expect(page.getByRole('alert')).toContainText(strange);
    await expect(messages).toHaveCount(0);
  }
  await page.goto(`/jobs/${jobs['Nightly report']}`);
  await expect(alarms).toContainText('Not failing');
});

test('a job to be kept silent is found by its name, however many there are', async ({ signedIn: page }) => {
  await page.goto('/alarms/silences');
  await page.getByRole('button', { name: 'Silence' }).click();
  const job = page.getByRole('dialog').getByRole('combobox', { name: 'Job' });
  const asked = page.waitForRequest((one) => one.url().includes('/jobs/board') && one.url().includes('text=Nightly'));
  await job.fill('Nightly');
  await asked;
  await page.getByTitle('Nightly report', { exact: true }).click();
  await expect(page.getByRole('dialog')).toContainText('Nightly report');
});

test('a job that begins to fail is seen without asking', async ({ signedIn: page }) => {
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  const headers = { 'X-CSRF-Token': csrf_token as string };
  const { job_group } = await (await page.request.get(`/api/v1/jobs/${jobs['Greet the customers']}`)).json();
  const data = { job_group, job_desc: 'Weigh the parcels', executor_handler: 'stumble' };
  const { id } = await (await page.request.post('/api/v1/jobs', { headers, data })).json();
  await page.goto('/alarms');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  await page.waitForLoadState('networkidle');
  await page.request.post(`/api/v1/jobs/${id}/trigger`, { headers, data: {} });
  await expect(page.getByRole('row', { name: /Weigh the parcels/ })).toBeVisible();
  await page.request.delete(`/api/v1/jobs/${id}`, { headers });
});

/** Somebody who takes messages, and the paths at which they came. */
async function receiver(): Promise<{ server: Server; received: string[]; url: string }> {
  const received: string[] = [];
  const server = createServer((request, response) => {
    received.push(request.url ?? '');
    request.resume();
    response.end('ok');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  return { server, received, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}
