// What was run is run again: by two presses of Enter, or with another parameter, which is checked as when it is run once.

import type { Page } from '@playwright/test';
import { call, ended, made } from './calling';
import { expect, test } from './stage';

const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent ?? '');

test('Enter on Retry, and Enter again, runs it again', async ({ signedIn: page }) => {
  const job = await made(page, 'Nap and nap again');
  const id = await ended(page, job);
  await page.goto(`/executions/${id}`);
  await page.getByRole('button', { name: 'Retry', exact: true }).press('Enter');
  await expect(page.getByRole('dialog', { name: `Run execution ${id} again?` })).toBeVisible();
  await expect.poll(() => focused(page)).toBe('Retry');
  await page.keyboard.press('Enter');
  await expect(page).not.toHaveURL(new RegExp(`/executions/${id}$`));
  await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('Enter on Delete or Kill, and Enter again, does no harm', async ({ signedIn: page }) => {
  const job = await made(page, 'Stay as you are', { executor_handler: 'linger' });
  const { execution_ids } = await call(page, 'POST', `/jobs/${job}/trigger`, {});
  for (const [path, name] of [
    [`/executions/${execution_ids[0]}`, 'Kill'],
    [`/jobs/${job}`, 'Delete'],
  ] as const) {
    await page.goto(path);
    await page.getByRole('main').getByRole('button', { name, exact: true }).first().press('Enter');
    await expect(page.getByRole('dialog')).toBeVisible();
    await expect.poll(() => focused(page)).toBe('Cancel');
    await page.keyboard.press('Enter');
    await expect(page.getByRole('dialog')).toBeHidden();
  }
  expect((await call(page, 'GET', `/executions/${execution_ids[0]}`)).handle_time).toBeNull();
  await call(page, 'POST', `/executions/${execution_ids[0]}/kill`);
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('a run that is repeated has the form of its handler, and does not start with a wrong field', async ({
  signedIn: page,
}) => {
  const parameter = '{"supplier": "Acme", "pages": 3}';
  const job = await made(page, 'Collect once more', { executor_handler: 'collect', executor_param: parameter });
  const id = await ended(page, job, '{"supplier": "Bolt", "pages": 5}');
  await page.goto(`/executions/${id}`);
  await page.getByRole('button', { name: 'Run again…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run Collect once more again?' });
  await expect(dialog.getByLabel('supplier')).toHaveValue('Bolt');
  await dialog.getByLabel('pages').fill('999');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(dialog.getByRole('alert')).toContainText('It was not started');
  await expect(page).toHaveURL(new RegExp(`/executions/${id}$`));
  await dialog.getByLabel('pages').fill('7');
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page).not.toHaveURL(new RegExp(`/executions/${id}$`));
  await page.getByRole('tab', { name: 'Parameter and result' }).click();
  await expect(page.getByRole('tabpanel')).toContainText('"supplier": "Bolt"');
  await expect(page.getByRole('tabpanel')).toContainText('"pages": 7');
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('what ran of a removed job is not offered to be run again, nor is that advised', async ({ signedIn: page }) => {
  const job = await made(page, 'A job that goes', { executor_handler: 'collect' }, true);
  const id = await ended(page, job);
  await page.goto(`/executions?job_id=${job}`);
  await expect(page.getByRole('button', { name: 'Retry', exact: true })).toBeVisible();
  await call(page, 'DELETE', `/jobs/${job}`);
  await page.reload();
  const row = page.getByRole('row', { name: /Removed job/ });
  await expect(row).toHaveCount(1);
  await row.getByRole('checkbox').check();
  await expect(page.getByRole('toolbar')).toContainText('1');
  await expect(page.getByRole('button', { name: 'Retry', exact: true })).toHaveCount(0);
  await page.goto(`/executions/${id}`);
  await expect(page.getByText('It cannot be done again: its job or its code is gone.')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Retry', exact: true })).toHaveCount(0);
});
