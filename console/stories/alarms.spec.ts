import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from './stage';

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
