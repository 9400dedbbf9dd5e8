// Where the focus of the keyboard is, and that one sees it there.

import type { Page } from '@playwright/test';
import { call, ended, made } from './calling';
import { expect, jobs, test } from './stage';

/** Press Tab until something has the focus that fits. */
async function tabTo(page: Page, selector: string): Promise<void> {
  const there = () => page.evaluate((wanted) => document.activeElement?.matches(wanted), selector);
  for (let press = 0; press < 80 && !(await there()); press++) await page.keyboard.press('Tab');
}

/** What is drawn around what has the focus. */
function ring(page: Page): Promise<string> {
  return page.evaluate(() => {
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(document.activeElement ?? document.body);
    return `${outlineStyle} ${outlineWidth} ${outlineColor}`;
  });
}

test('a log and a column that sorts show that they have the focus, in both themes', async ({ signedIn: page }) => {
  const id = await ended(page, jobs['Greet the customers'] ?? 0);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.goto(`/executions/${id}/log`);
    await expect(page.locator('.log-row').first()).toBeVisible();
    const wanted = await page.evaluate(() => {
      const probe = document.createElement('i');
      probe.style.color = 'var(--orth-primary)';
      document.body.append(probe);
      const { color } = getComputedStyle(probe);
      probe.remove();
      return `solid 2px ${color}`;
    });
    await tabTo(page, '[role=log]');
    await expect(page.getByRole('log')).toBeFocused();
    await expect.poll(() => ring(page)).toBe(wanted);
    await page.goto('/executions');
    await expect(page.getByRole('row').nth(1)).toBeVisible();
    await tabTo(page, 'th');
    await expect(page.getByRole('columnheader', { name: /^Duration/ })).toBeFocused();
    await expect.poll(() => ring(page)).toBe(wanted);
  }
});

test('who goes from one execution to another by keyboard arrives at its heading', async ({ signedIn: page }) => {
  const [first, second] = [
    await ended(page, jobs['Collect prices of all suppliers'] ?? 0),
    await ended(page, jobs['Collect prices of all suppliers'] ?? 0),
  ];
  const heading = page.getByRole('heading', { level: 1 });
  for (const stay of ['', '/log']) {
    await page.goto(`/executions/${second}${stay}`);
    await expect(page.getByRole('button', { name: 'Previous run of the job' })).toBeEnabled();
    await expect(heading).not.toBeFocused();
    await page.keyboard.press('[');
    await expect(page).toHaveURL(new RegExp(`/executions/${first}${stay}$`));
    await expect(heading).toBeFocused();

    const retry = page.getByRole('button', { name: 'Retry', exact: true });
    await retry.focus();
    await page.keyboard.press('Enter');
    await expect(page.getByRole('dialog').getByRole('button', { name: 'Retry' })).toBeFocused();
    await page.keyboard.press('Enter');
    await expect(page).not.toHaveURL(new RegExp(`/executions/${first}`));
    await expect(heading).toBeFocused();
  }
  await page.getByRole('button', { name: 'Run again…' }).focus();
  const before = page.url();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByRole('button', { name: /Run/ }).press('Enter');
  await expect.poll(() => page.url()).not.toBe(before);
  await expect(heading).toBeFocused();
});

test('a dialog to run something gives the focus back to what opened it', async ({ signedIn: page }) => {
  const job = await made(page, 'Give it back');
  const id = await ended(page, job);
  const openers = [
    [`/jobs/${job}`, 'Run once'],
    ['/jobs?text=Give it back', 'Run Give it back once'],
    [`/executions/${id}`, 'Run again…'],
  ] as const;
  for (const [path, name] of openers) {
    await page.goto(path);
    const opener = page.getByRole('main').getByRole('button', { name });
    for (const close of ['Escape', 'Cancel']) {
      await opener.focus();
      await page.keyboard.press('Enter');
      const dialog = page.getByRole('dialog');
      await expect(dialog.getByRole('button', { name: 'Run', exact: true })).toBeFocused();
      if (close === 'Escape') await page.keyboard.press('Escape');
      else await dialog.getByRole('button', { name: 'Cancel' }).press('Enter');
      await expect(dialog).toBeHidden();
      await expect(opener, `${path}, ${close}`).toBeFocused();
    }
  }
  await call(page, 'DELETE', `/jobs/${job}`);
});
