// Why an execution is where it is, in the language of the page.

import type { Page } from '@playwright/test';
import { call, made } from './calling';
import { expect, jobs, test } from './stage';

async function speaking(page: Page, language: string): Promise<void> {
  await page.addInitScript(
    (said) => localStorage.setItem('orth.preferences', JSON.stringify({ language: said })),
    language,
  );
}

async function openNewest(page: Page, job: string, status: string): Promise<void> {
  const query = new URLSearchParams({ job_id: String(jobs[job]), status, limit: '1' });
  const answer = await page.request.get(`/api/v1/executions?${query}`);
  const { items } = (await answer.json()) as { items: { id: number }[] };
  await page.goto(`/executions/${items[0]?.id}`);
}

test('a trigger that found nobody is explained in French, and in nothing else', async ({ signedIn: page }) => {
  await speaking(page, 'fr');
  await openNewest(page, 'Send the invoices', 'trigger_failed');
  const why = page.getByRole('region', { name: 'Pourquoi' });
  await expect(why).toContainText('Aucun exécuteur n’est enregistré pour l’application nobody');
  await expect(why).not.toContainText('No executor is registered');
  await expect(why).toContainText('Corrigez ce qui l’a empêchée, puis cliquez sur Relancer.');
});

test('a failure says what to do next, in English and in Chinese', async ({ signedIn: page }) => {
  await openNewest(page, 'Collect prices of all suppliers', 'failed');
  await expect(page.getByRole('region', { name: 'Why' })).toContainText(
    'Next: It is not retried by itself. See in the log what went wrong, mend it, then press Retry.',
  );
  await speaking(page, 'zh-CN');
  await page.reload();
  await expect(page.locator('.why-box')).toContainText('请在日志中查看出错原因，修正后点击重试。');
});

test('what waits its turn tells its place and what is before it, until its turn comes', async ({ signedIn: page }) => {
  const job = await made(page, 'One after the other', { executor_handler: 'linger' });
  const ids: number[] = [];
  for (const _ of [1, 2]) ids.push((await call(page, 'POST', `/jobs/${job}/trigger`)).execution_ids[0]);
  const [first, second] = ids;
  await page.goto(`/executions?job_id=${job}`);
  const row = page.locator(`tr[data-row-key="${second}"]`);
  await expect(row).toContainText('queued, place 1');
  await page.goto(`/executions/${second}`);
  const why = page.getByRole('region', { name: 'Why' });
  await expect(why).toContainText(`Execution ${first} of the same job is before it`);
  await call(page, 'POST', `/executions/${first}/kill`);
  await expect(why).not.toContainText('is before it');
  await expect(page.getByText('queued, place')).toHaveCount(0);
  await expect(page.getByText(/^running/).first()).toBeVisible();
  await call(page, 'POST', `/executions/${second}/kill`);
  await call(page, 'DELETE', `/jobs/${job}`);
});

test('the log of what was killed before its turn says so, in the language of the page', async ({ signedIn: page }) => {
  const job = await made(page, 'Never its turn', { executor_handler: 'linger' });
  const ids: number[] = [];
  for (const _ of [1, 2]) ids.push((await call(page, 'POST', `/jobs/${job}/trigger`)).execution_ids[0]);
  const [first, second] = ids;
  await expect.poll(async () => (await call(page, 'GET', `/executions/${second}`)).queue_position).toBe(1);
  await call(page, 'POST', `/executions/${second}/kill`);
  await expect.poll(async () => (await call(page, 'GET', `/executions/${second}`)).status).toBe('failed');
  await page.goto(`/executions/${second}/log`);
  const log = page.locator('.log-viewer');
  await expect(log).toContainText('It is not known to have begun, and nothing was written');
  await expect(log).not.toContainText(/archive|There is no log/i);
  await speaking(page, 'fr');
  await page.reload();
  await expect(log).toContainText('Rien n’indique qu’elle ait commencé, et rien n’a été écrit');
  await expect(log).not.toContainText('There is no log');
  await call(page, 'POST', `/executions/${first}/kill`);
  await call(page, 'DELETE', `/jobs/${job}`);
});
