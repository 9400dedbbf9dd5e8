// Many jobs: found by author and tag, done with all at once, taken out as a file and taken in again.

import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { call, made } from './calling';
import { browserOptions, expect, signIn, test } from './stage';

const CRON = { schedule_type: 'CRON', schedule_conf: '0 0 3 1 1 ?' };

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

async function started(page: Page, text: string): Promise<number> {
  const { items } = await call(page, 'GET', `/jobs/board?text=${encodeURIComponent(text)}&limit=200`);
  return (items as { job: { trigger_status: number } }[]).filter(({ job }) => job.trigger_status === 1).length;
}

function asFile(text: string) {
  return { name: 'jobs.json', mimeType: 'application/json', buffer: Buffer.from(text) };
}

test('jobs are found by author and by tags, and the address keeps it', async ({ signedIn: page }) => {
  await made(page, 'Prices of Europe', { author: 'data team', tags: ['prices', 'eu'] });
  await made(page, 'Prices of Asia', { author: 'data team', tags: ['prices'] });
  await page.goto('/jobs');
  await row(page, 'Prices of Europe').getByRole('link', { name: 'eu', exact: true }).click();
  await expect(page).toHaveURL(/\?tag=eu$/);
  await expect(row(page, 'Prices of Asia')).toHaveCount(0);
  await page.goto('/jobs');
  await page.getByRole('combobox', { name: 'Any author' }).click();
  await page.getByTitle('data team', { exact: true }).click();
  await expect(row(page, 'Greet the customers')).toHaveCount(0);
  await page.getByRole('combobox', { name: 'Any tags' }).click();
  await page.getByTitle('prices', { exact: true }).click();
  await expect(page).toHaveURL(/author=data\+team&tag=prices/);
  await page.keyboard.press('Escape');
  await page.reload();
  await expect(row(page, 'Prices of Europe')).toBeVisible();
  await expect(row(page, 'Prices of Asia')).toBeVisible();
  await page.goBack();
  await expect(page).toHaveURL(/author=data\+team$/);
});

test('tags are written in the editor', async ({ signedIn: page }) => {
  const id = await made(page, 'To be tagged');
  await page.goto(`/jobs/${id}/edit`);
  await page.getByRole('combobox', { name: 'Tags' }).fill('Nightly,warehouse,');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'To be tagged' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'nightly' })).toBeVisible();
  expect((await call(page, 'GET', `/jobs/${id}`)).tags).toEqual(['nightly', 'warehouse']);
});

test('all jobs that match are done with by the server, also those not shown', async ({ signedIn: page }) => {
  test.slow();
  const definitions = Array.from({ length: 260 }, (_, number) => ({
    job_group: 'stories',
    job_desc: `Crowd ${number}`,
    executor_handler: 'greet',
    ...CRON,
  }));
  await call(page, 'POST', '/jobs/definitions', { jobs: definitions });
  const byHand = await made(page, 'Crowd without a schedule');
  await page.goto('/jobs?text=crowd');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  const bar = page.getByRole('region', { name: 'What to do with the selected jobs' });
  await expect(bar).toContainText('50 jobs selected');
  await bar.getByRole('button', { name: 'Select all that match' }).click();
  await expect(bar).toContainText('also those not shown');
  let asked = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST' && !request.url().includes('dry_run')) asked += 1;
  });
  await bar.getByRole('button', { name: 'Start' }).click();
  const dialog = page.getByRole('dialog', { name: 'Start all jobs that match?' });
  await expect(dialog).toContainText('This affects 260 jobs.');
  await expect(dialog).toContainText('and 252 more');
  await expect(dialog).toContainText('1 other job does not change');
  await dialog.getByRole('button', { name: 'Start' }).click();
  await expect(page.getByText('260 jobs done.')).toBeVisible({ timeout: 30_000 });
  expect(asked, 'requests for 260 jobs').toBeLessThan(30);
  await expect(bar).toHaveCount(0);
  expect(await started(page, 'crowd'), 'of the newest 200, one of which has no schedule').toBe(199);

  const parent = await made(page, 'Needs one of them', { child_jobid: [byHand] });
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await bar.getByRole('button', { name: 'Select all that match' }).click();
  await bar.getByRole('button', { name: 'Start' }).click();
  await expect(dialog).toContainText('No matching job would change.');
  await expect(dialog.getByRole('button', { name: 'Start' })).toBeDisabled();
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await bar.getByRole('button', { name: 'Delete' }).click();
  const deleting = page.getByRole('dialog', { name: 'Delete all jobs that match?' });
  await expect(deleting).toContainText('This affects 260 jobs.');
  await expect(deleting).toContainText('1 job is refused:');
  await deleting.getByRole('button', { name: 'Delete' }).click();
  await expect(deleting.getByRole('alert')).toContainText('Done for 260, refused for 1.', { timeout: 30_000 });
  await expect(deleting.getByRole('alert')).toContainText('Crowd without a schedule: Job');
  await expect(deleting.getByRole('progressbar')).toHaveAttribute('aria-valuenow', '100');
  await deleting.getByRole('button', { name: 'Cancel' }).click();
  await bar.getByRole('button', { name: 'Delete' }).click();
  await expect(deleting).toContainText('No matching job would change.');
  await expect(deleting).toContainText('1 job is refused:');
  await expect(deleting.getByRole('listitem')).toContainText('Crowd without a schedule: Job');
  await expect(deleting.getByRole('button', { name: 'Delete' })).toBeDisabled();
  await expect(deleting.getByRole('progressbar')).toHaveCount(0);
  await deleting.getByRole('button', { name: 'Cancel' }).click();
  await call(page, 'DELETE', `/jobs/${parent}`);
  await call(page, 'DELETE', `/jobs/${byHand}`);
});

test.describe('a file', () => {
  test.use({ refusals: [412] });

  test('of definitions is looked at, then taken in as it was looked at', async ({ signedIn: page }) => {
    await made(page, 'Moved first', { executor_timeout: 30, tags: ['moving'] });
    const second = await made(page, 'Moved second', { tags: ['moving'] });
    await page.goto('/jobs?tag=moving');
    await page.getByRole('checkbox', { name: 'Select all' }).check();
    const saving = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const file = JSON.parse(await readFile(await (await saving).path(), 'utf8'));
    expect(file.jobs.map((one: { job_group: string }) => one.job_group)).toEqual(['stories', 'stories']);
    await call(page, 'DELETE', `/jobs/${second}`);

    file.jobs[1].executor_timeout = 90;
    file.jobs.push({ ...file.jobs[0], job_desc: 'Moved wrongly', job_group: 'nowhere' });
    await page.getByRole('button', { name: 'Import' }).click();
    const dialog = page.getByRole('dialog', { name: 'Import definitions' });
    await dialog.locator('input[type=file]').setInputFiles(asFile('not json'));
    await expect(dialog.getByRole('alert')).toContainText('This file is not JSON.');
    await dialog.locator('input[type=file]').setInputFiles(asFile(JSON.stringify(file)));
    await expect(dialog).toContainText('1 to create, 1 to change, 0 the same, 1 refused');
    const changed = row(page, 'Moved first').filter({ hasText: 'Time limit' });
    await expect(changed.getByRole('row', { name: /Time limit/ })).toContainText('30.0 s1 min 30 s');
    await expect(row(page, 'Moved wrongly')).toContainText("There is no group 'nowhere' here.");
    expect((await call(page, 'GET', '/jobs/board?text=moved')).items).toHaveLength(1);

    // Somebody else is faster: what is applied is never something else than what was looked at.
    const [{ job: first }] = (await call(page, 'GET', '/jobs/board?text=moved')).items;
    await call(page, 'PATCH', `/jobs/${first.id}`, { executor_timeout: 90 });
    await dialog.getByRole('button', { name: 'Apply 2 changes' }).click();
    await expect(dialog).toContainText('1 to create, 0 to change, 1 the same, 1 refused');
    await dialog.getByRole('button', { name: 'Apply 1 change' }).click();
    await expect(page.getByText('1 created, 0 changed.')).toBeVisible();
    await expect(row(page, 'Moved second')).toBeVisible();
  });
});

test('a file too large for one request is taken in in parts', async ({ signedIn: page }) => {
  const many = Array.from({ length: 501 }, (_, number) => ({
    job_group: 'stories',
    job_desc: `Part ${number}`,
    executor_handler: 'greet',
    tags: ['parts'],
    ...(number === 0 && { child_jobid: ['stories/Part 500'] }),
  }));
  await page.goto('/jobs?tag=parts');
  await page.getByRole('button', { name: 'Import' }).click();
  const dialog = page.getByRole('dialog', { name: 'Import definitions' });
  await dialog.locator('input[type=file]').setInputFiles(asFile(JSON.stringify([...many, many[1]])));
  await expect(dialog.getByRole('alert')).toContainText('Definitions 2 and 502 are about the same job.');
  await dialog.locator('input[type=file]').setInputFiles(asFile(JSON.stringify({ jobs: many })));
  await expect(dialog).toContainText('Part 1 of 2: 500 of 501 definitions.', { timeout: 20_000 });
  await expect(dialog).toContainText('500 to create, 0 to change, 0 the same, 0 refused');
  expect((await call(page, 'GET', '/jobs/board?tag=parts')).items).toHaveLength(0);
  await dialog.getByRole('button', { name: 'Apply part 1' }).click();
  await expect(dialog).toContainText('Part 2 of 2: 1 of 501 definitions.', { timeout: 20_000 });
  await expect(dialog).toContainText('1 to create, 0 to change, 0 the same, 0 refused');
  await dialog.getByRole('button', { name: 'Apply part 2' }).click();
  await expect(page.getByText('501 created, 0 changed.')).toBeVisible();
  let left = 1;
  while (left > 0) left = (await call(page, 'POST', '/jobs/bulk/delete?tag=parts')).left;
});

test('starting and stopping many names the jobs that change, and no others', async ({ signedIn: page }) => {
  const running = await made(page, 'Runs by time', { tags: ['stopping'], ...CRON });
  const stopped = await made(page, 'Stopped before', { tags: ['stopping'], ...CRON });
  const byHand = await made(page, 'Runs by hand', { tags: ['stopping'] });
  await call(page, 'POST', `/jobs/${running}/start`);
  await page.goto('/jobs?tag=stopping');
  const bar = page.locator('.selection-bar');
  const dialog = page.getByRole('dialog');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await bar.getByRole('button', { name: 'Start' }).click();
  await expect(dialog.getByRole('listitem')).toHaveText(['Stopped before']);
  await expect(dialog).toContainText('2 other jobs do not change');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  await bar.getByRole('button', { name: 'Stop' }).click();
  await expect(dialog).toContainText('Stop 1 job?');
  await expect(dialog.getByRole('listitem')).toHaveText(['Runs by time']);
  await dialog.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText('1 job done.')).toBeVisible();
  await expect(dialog).toBeHidden();
  expect((await call(page, 'GET', `/jobs/${running}`)).trigger_status).toBe(0);
  await call(page, 'POST', `/jobs/bulk/delete?id=${running}&id=${stopped}&id=${byHand}`);
});

test('jobs that follow each other are deleted together', async ({ signedIn: page }) => {
  const parent = await made(page, 'Goes first', { tags: ['together'] });
  const child = await made(page, 'Goes after', { tags: ['together'] });
  await call(page, 'PATCH', `/jobs/${parent}`, { child_jobid: [child] });
  await page.goto('/jobs?tag=together');
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.locator('.selection-bar').getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
  await expect(page.getByText('2 jobs done.')).toBeVisible();
  await expect(page.getByText('No job matches these filters')).toBeVisible();
});

test('who may edit nothing imports nothing', async ({ signedIn: admin, browser }) => {
  const secret = 'only-for-operating-2026';
  await call(admin, 'POST', '/users', { username: 'jobs-operator', password: secret, role: 'operator' });
  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  await signIn(page, '', { username: 'jobs-operator', password: secret });
  await page.goto('/jobs');
  await expect(row(page, 'Greet the customers')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Import' })).toHaveCount(0);
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  const refused = await page.request.post('/api/v1/jobs/definitions', {
    headers: { 'X-CSRF-Token': csrf_token },
    data: { jobs: [{ job_group: 'stories', job_desc: 'x', executor_handler: 'greet' }] },
  });
  expect(refused.status()).toBe(403);
  await context.close();
});

test.describe('in another language', () => {
  test('what the server refuses is told in it', async ({ signedIn: page }) => {
    const id = await made(page, 'Needed by another');
    const parent = await made(page, 'Needs it', { child_jobid: [id] });
    await page.goto('/jobs?text=needed+by+another');
    await expect(row(page, 'Needed by another')).toBeVisible();
    await page.evaluate(() => localStorage.setItem('orth.preferences', JSON.stringify({ language: 'fr' })));
    await page.reload();
    await page.getByRole('checkbox', { name: /Needed by another/ }).check();
    const bar = page.getByRole('region', { name: 'Actions sur les tâches sélectionnées' });
    await bar.getByRole('button', { name: 'Supprimer' }).click();
    const dialog = page.getByRole('dialog', { name: 'Supprimer 1 tâche ?' });
    await expect(dialog).toContainText('Aucune tâche correspondante ne changerait.');
    await expect(dialog.getByRole('listitem')).toContainText(`Needed by another: La tâche ${id} `);
    await expect(dialog.getByRole('button', { name: 'Supprimer' })).toBeDisabled();
    await call(page, 'DELETE', `/jobs/${parent}`);
    await call(page, 'DELETE', `/jobs/${id}`);
  });
});
