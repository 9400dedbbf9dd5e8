import { ended } from './calling';
import { expect, jobs, test } from './stage';

test.use({ refusals: [429] }); // of a search that came before the server noticed that the last one was given up

test('who searches a long log again and again is never told to wait for their own searches', async ({
  signedIn: page,
}) => {
  const id = await ended(page, jobs['Read the ledger'] ?? 0);
  await page.goto(`/executions/${id}/log`);
  await expect(page.locator('.log-row').first()).toBeVisible();
  const box = page.getByRole('textbox', { name: 'Search the whole log' });
  for (const word of ['zebra', 'quagga', 'okapi', 'needle']) {
    const begun = page.waitForRequest((request) => request.url().includes(`q=${word}`));
    await box.fill(word);
    await box.press('Enter');
    await begun;
  }
  await expect(page.locator('.log-outcome')).toHaveText('1 of 1', { timeout: 30_000 });
  await box.fill(''); // with a word, only lines of a level that have it are shown
  for (const level of ['Warning', 'Debug', 'Error']) {
    const begun = page.waitForRequest((request) => request.url().includes('log/search'));
    await page.getByRole('button', { name: level, exact: true }).click();
    await begun;
  }
  await expect(page.locator('.log-row').filter({ hasText: 'no row in its middle' })).toBeVisible({ timeout: 30_000 });
  await expect(page.getByRole('alert')).toHaveCount(0);
});

test.describe('an expression that takes for ever', () => {
  test.use({ refusals: [422] });

  test('is refused by the server, and the page goes on', async ({ signedIn: page }) => {
    const id = await ended(page, jobs['Try the viewer'] ?? 0);
    await page.goto(`/executions/${id}/log?q=${encodeURIComponent('(x+x+)+y')}&regex=1`);
    await expect(page.locator('.log-outcome-error')).toBeVisible();
    const box = page.getByRole('textbox', { name: 'Search the whole log' });
    await box.fill('t\\w+ red$');
    await box.press('Enter');
    await expect(page.locator('.log-outcome')).toHaveText('1 of 1');
    await expect(page.locator('.log-marked mark'), 'as the server found it, across colours').toHaveText('true red');
  });
});
