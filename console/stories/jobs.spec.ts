// Jobs: found, run and followed by keyboard; written, changed by two people at once, and kept from those who may not.

import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { call, made } from './calling';
import { browserOptions, expect, jobs, signIn, test } from './stage';

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name });

test('the list says when, how it went, who could run it, and whether it is on', async ({ signedIn: page }) => {
  // Its schedule may have fired while another story had the executor drained.
  await call(page, 'POST', `/jobs/${jobs['Greet the customers']}/trigger`, {});
  await page.goto('/jobs');
  const greet = row(page, 'Greet the customers');
  await expect(greet).toContainText('Every 5 minutes');
  await expect(greet).toContainText('0 */5 * * * ?');
  await expect(greet).toContainText(/in \d+/);
  await expect(greet.getByRole('button', { name: 'Success 200/200' })).toBeVisible();
  await expect(greet.getByRole('img', { name: /executions: .*Success/ })).toBeVisible();
  await expect(greet).toContainText('1/1');
  await expect(greet.getByRole('switch')).toBeChecked();
  await expect(row(page, 'Send the invoices')).toContainText('0/0');
});

test('the last status of a job shows the messages behind it, by click and by Enter', async ({ signedIn: page }) => {
  await page.goto('/jobs');
  const tag = row(page, 'Collect prices').getByRole('button', { name: /^Failed 200/ });
  const messages = page.getByRole('dialog', { name: 'Messages behind this status' });
  await tag.click();
  await expect(messages.locator('pre').last()).toContainText('the supplier sent no prices for 2026-01-30');
  await expect(messages.getByRole('button', { name: /^Copy/ }).last()).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(messages).toBeHidden();
  await tag.press('Enter');
  await messages.getByRole('link', { name: /^Execution \d+/ }).click();
  await expect(page).toHaveURL(/\/executions\/\d+$/);
});

test('quick filters and texts are in the address and survive a reload', async ({ signedIn: page }) => {
  await page.goto('/jobs');
  await page.getByText('No executor', { exact: true }).click();
  await expect(page).toHaveURL(/only=no_executor/);
  await expect(row(page, 'Send the invoices')).toBeVisible();
  await expect(row(page, 'Greet the customers')).toHaveCount(0);
  const missing = await made(page, 'Wait for its handler', { executor_handler: 'not-yet' }, true);
  await page.getByText('Handler missing', { exact: true }).click();
  await expect(row(page, 'Wait for its handler')).toBeVisible();
  await expect(row(page, 'Greet the customers')).toHaveCount(0);
  await call(page, 'DELETE', `/jobs/${missing}`);
  await page.goto('/jobs?only=failing');
  await expect(row(page, 'Collect prices of all suppliers')).toBeVisible();
  await expect(row(page, 'Nightly report')).toHaveCount(0);
  await page.getByRole('searchbox', { name: 'Name, handler, author, tag or number' }).fill('suppliers');
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/only=failing&text=suppliers/);
  await page.reload();
  await expect(row(page, 'Collect prices of all suppliers')).toBeVisible();
});

test('a job is found, run and followed without a mouse', async ({ signedIn: page }) => {
  await page.goto('/jobs');
  await page.getByRole('searchbox', { name: 'Name, handler, author, tag or number' }).focus();
  await page.keyboard.type('greet the customers');
  await page.keyboard.press('Enter');
  await expect(row(page, 'Nightly report')).toHaveCount(0);
  const run = page.getByRole('button', { name: 'Run Greet the customers once' });
  await expect(run).toBeVisible();
  for (let presses = 0; presses < 40; presses++) {
    if (await run.evaluate((button) => button === document.activeElement)) break;
    await page.keyboard.press('Tab');
  }
  await expect(run).toBeFocused();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog', { name: 'Run “Greet the customers” now?' });
  await expect(dialog.getByRole('button', { name: 'Run' })).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/executions\/\d+$/);
  await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
});

test('a job is written: its handler says what it takes, and what will be saved is shown', async ({
  signedIn: page,
}) => {
  await page.goto('/jobs');
  await page.getByRole('button', { name: 'New job' }).click();
  await page.getByLabel('Name', { exact: true }).fill('Collect prices of the north');
  await page.getByLabel('Handler', { exact: true }).fill('coll');
  await page.getByText('Collect the prices of one supplier.').click();
  await page.getByLabel('supplier').fill('north');
  await page.getByLabel('pages').fill('700');
  await expect(page.getByLabel('pages')).toHaveAccessibleDescription(/^must be at most 100/);
  for (const wrong of ['700', '7x']) {
    await page.getByLabel('pages').fill(wrong);
    await page.getByRole('button', { name: 'Create' }).click();
    await expect(page.getByText('A value is not right: it is marked above.')).toBeVisible();
    await expect(page.getByLabel('pages')).toHaveAttribute('aria-invalid', 'true');
  }
  await page.getByLabel('pages').fill('7');
  await expect(page.getByText('A value is not right: it is marked above.')).toBeHidden();
  await page.getByText('JSON', { exact: true }).click();
  await expect(page.getByRole('textbox', { name: 'Parameter' })).toHaveValue(/"supplier": "north",\s+"pages": 7/);
  await page.getByRole('button', { name: 'Create' }).click();
  const review = page.getByRole('dialog', { name: 'Create “Collect prices of the north”?' });
  await expect(review.getByRole('row', { name: /^Handler/ })).toContainText('collect');
  await review.getByRole('button', { name: 'Create' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Collect prices of the north' })).toBeVisible();
  await expect(page.getByText('Stopped', { exact: true })).toBeVisible();
});

test('a schedule that lacks what its handler needs is told of before it is saved', async ({ signedIn: page }) => {
  const job = await made(page, 'Collect every night', {
    executor_handler: 'collect',
    executor_param: '{"supplier": "a"}',
  });
  await page.goto(`/jobs/${job}/edit`);
  const supplier = page.getByLabel('supplier');
  await supplier.fill('');
  await page.getByLabel('pages').focus();
  await expect(supplier).toHaveAccessibleDescription(/^must be given/);
  await expect(supplier).toHaveAttribute('aria-required', 'true');
  const save = page.getByRole('button', { name: 'Save', exact: true });
  const review = page.getByRole('dialog', { name: 'Save “Collect every night”?' });
  await save.click();
  await expect(review.getByRole('table')).toBeVisible();
  await expect(review.getByRole('alert')).toBeHidden(); // whoever runs it by hand is asked
  await review.getByRole('button', { name: 'Back to the form' }).click();
  await page.getByText('Cron', { exact: true }).click();
  await page.getByLabel('Expression').fill('0 0 3 * * ?');
  await save.click();
  await expect(review.getByRole('alert')).toContainText('what the schedule fires will fail');
  await expect(review.getByRole('alert')).toContainText('supplier: must be given');
  await review.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'Collect every night' })).toBeVisible();
});

test('a job is run once with another parameter, on an executor and at a log level one chose', async ({
  signedIn: page,
}) => {
  const param = JSON.stringify({ supplier: 'south', pages: 7 });
  const id = await made(page, 'Collect prices of the south', { executor_handler: 'collect', executor_param: param });
  await page.goto(`/jobs/${id}`);
  await page.getByRole('button', { name: 'Run once' }).click();
  const dialog = page.getByRole('dialog', { name: 'Run “Collect prices of the south” now?' });
  await dialog.getByLabel('pages').fill('300');
  await dialog.getByRole('button', { name: 'Run' }).click();
  await expect(dialog.getByRole('alert')).toContainText('pages: must be at most 100');
  await dialog.getByLabel('pages').fill('3');
  await dialog.getByRole('combobox', { name: 'Executor' }).click();
  await page.getByTitle(/^http:\/\/127/).click();
  await dialog.getByRole('combobox', { name: 'Log level for this run' }).click();
  await page.getByTitle('DEBUG').click();
  await dialog.getByRole('button', { name: 'Run' }).click();
  await expect(page).toHaveURL(/\/executions\/\d+$/);
  await expect(page.getByRole('log', { name: 'Log' })).toContainText('3 pages of south, new prices');
  await expect(page.getByRole('log', { name: 'Log' })).toContainText('DEBUG prices: asked south for 3 pages');
  await expect(page.getByRole('definition').filter({ hasText: 'DEBUG' })).toBeVisible();
});

test.describe('while a schedule is typed', () => {
  test.use({ refusals: [422] });

  test('its fires are shown, with the place of what is wrong and the changes of the clock', async ({
    signedIn: page,
  }) => {
    await page.goto('/jobs/new');
    const conf = page.getByRole('textbox', { name: 'Cron expression' });
    const fires = page.getByRole('list', { name: 'Coming fires' });
    await expect(fires.getByRole('listitem')).toHaveCount(10);
    await conf.fill('0 30 25 * * ?');
    await expect.poll(() => page.locator('.pointer').textContent()).toBe('0 30 25 * * ?\n     ^^');
    await conf.fill('0 30 2 28 3 ?');
    await page.getByRole('combobox', { name: 'Time zone', exact: true }).fill('Europe/Berl');
    await page.getByTitle('Europe/Berlin').click();
    await expect(fires).toContainText('moved by the clock change');
    await conf.fill('0 45 6 ? * MON-FRI');
    await expect(page.getByLabel('Time of day')).toHaveValue('06:45');
    await page.getByLabel('Time of day').fill('07:15');
    await expect(conf).toHaveValue('0 15 7 ? * MON,TUE,WED,THU,FRI');
    await expect(fires.getByRole('listitem').first()).toContainText('07:15');
  });
});

test.describe('what the server refuses', () => {
  test.use({ refusals: [422] });

  test('a refusal stands at its field, and a handler to come is saved all the same', async ({ signedIn: page }) => {
    await page.goto('/jobs/new');
    await page.getByLabel('Name', { exact: true }).fill('For later');
    await page.getByLabel('Handler', { exact: true }).fill('not_written_yet');
    await page.getByText('None', { exact: true }).click();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    const field = page.locator('.ant-form-item', { has: page.getByLabel('Handler', { exact: true }) });
    await expect(field.locator('.ant-form-item-explain-error')).toContainText('has a handler');
    await page.getByLabel('Save it all the same').check();
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'For later' })).toBeVisible();
  });
});

test.describe('when somebody else was faster', () => {
  test.use({ refusals: [412] });

  test('two people change one job: nothing is lost, and both are asked', async ({ signedIn: page }) => {
    const id = await made(page, 'Shared report', { executor_timeout: 60 });
    await page.goto(`/jobs/${id}/edit`);
    await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Shared report');
    await call(page, 'PATCH', `/jobs/${id}`, { executor_timeout: 900, author: 'Ann' });

    await page.getByLabel('Name', { exact: true }).fill('Shared report of the month');
    await page.getByLabel('Time limit').fill('300');
    await page.getByRole('button', { name: 'Save' }).click();
    const review = page.getByRole('dialog', { name: 'Save “Shared report of the month”?' });
    await expect(review.getByRole('row', { name: /Time limit/ })).toContainText('1 min 00 s5 min 00 s');
    await review.getByRole('button', { name: 'Save' }).click();

    const conflict = page.getByRole('dialog', { name: /Somebody else has changed/ });
    await expect(conflict.getByRole('row', { name: /Author/ })).toContainText('Ann');
    await expect(conflict.getByRole('row', { name: /Time limit/ })).toContainText('15 min 00 s');
    const mine = conflict.getByRole('row', { name: /Name/ });
    await expect(mine.getByRole('cell')).toHaveText([
      'Shared report',
      'Shared report',
      'Shared report of the month',
      'yours',
    ]);
    await conflict.getByRole('radiogroup', { name: 'Time limit' }).getByText('Yours').click();
    await conflict.getByRole('button', { name: 'Put both together and go on' }).click();
    await expect(page.getByLabel('Author')).toHaveValue('Ann');
    await expect(page.getByLabel('Time limit')).toHaveValue('300');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('heading', { level: 1, name: 'Shared report of the month' })).toBeVisible();
    const stored = await call(page, 'GET', `/jobs/${id}`);
    expect([stored.author, stored.executor_timeout, stored.version]).toEqual(['Ann', 300, 3]);
  });
});

test('one is asked before one leaves something unsaved', async ({ signedIn: page }) => {
  const id = await made(page, 'Left alone');
  await page.goto(`/jobs/${id}/edit`);
  await page.getByLabel('Name', { exact: true }).fill('Changed');
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('button', { name: 'Stay' }).click();
  await expect(page.getByLabel('Name', { exact: true })).toHaveValue('Changed');
  await page.getByRole('link', { name: 'Jobs', exact: true }).click();
  await page.getByRole('button', { name: 'Leave' }).click();
  await expect(page).toHaveURL(/\/jobs$/);
});

test.describe('a whole life', () => {
  test.use({ refusals: [404] });

  test('a job is started, stopped and deleted, named each time', async ({ signedIn: page }) => {
    const id = await made(page, 'Short lived', { schedule_type: 'CRON', schedule_conf: '0 0 3 1 1 ?' });
    await page.goto(`/jobs/${id}`);
    await expect(page.getByRole('list', { name: 'Coming fires' }).getByRole('listitem')).toHaveCount(10);
    await page.getByRole('button', { name: 'Start', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await expect(dialog).toContainText('Start “Short lived”?');
    await dialog.getByRole('button', { name: 'Start' }).click();
    await expect(page.getByText('Started', { exact: true })).toBeVisible();
    await page.goto('/jobs?text=short+lived');
    const on = page.getByRole('switch', { name: 'Short lived fires by its schedule' });
    await on.click();
    await expect(on).not.toBeChecked();
    await page.goto(`/jobs/${id}`);
    await page.getByRole('button', { name: 'Delete' }).click();
    await expect(dialog).toContainText('Delete “Short lived”?');
    await dialog.getByRole('button', { name: 'Delete' }).click();
    await expect(page).toHaveURL(/\/jobs$/);
    await page.goto(`/jobs/${id}`);
    await expect(page.getByText('There is no such job')).toBeVisible();
  });
});

test.describe('what is refused for one', () => {
  test.use({ refusals: [409] });

  test('the changes of a job are told, with what was before', async ({ signedIn: page }) => {
    const id = await made(page, 'Often changed');
    await call(page, 'PATCH', `/jobs/${id}`, { executor_timeout: 90, author: 'ada' });
    await page.goto(`/jobs/${id}`);
    const history = page.getByRole('region', { name: 'History of the definition' });
    const change = history.getByRole('row').filter({ hasText: 'changed' });
    await expect(change).toContainText('admin');
    await change.getByRole('button', { name: 'Expand row' }).click();
    const differs = history.getByRole('table', { name: 'History of the definition' });
    await expect(differs.getByRole('row').filter({ hasText: 'ada' })).toContainText('–');
    await expect(differs).toContainText('1 min 30 s');
    await expect(history.getByRole('row').filter({ hasText: 'created' })).toBeVisible();
  });

  test('a job becomes again what it was before a change', async ({ signedIn: page }) => {
    const id = await made(page, 'Changed by mistake', { executor_timeout: 30 });
    await call(page, 'PATCH', `/jobs/${id}`, { executor_timeout: 90, author: 'ada' });
    await call(page, 'PATCH', `/jobs/${id}`, { author: 'bob' });
    await page.goto(`/jobs/${id}`);
    const history = page.getByRole('region', { name: 'History of the definition' });
    await history.getByRole('link', { name: 'Restore' }).last().click();
    await expect(page.getByText('This is the definition as it was before the change you chose.')).toBeVisible();
    await page.getByRole('button', { name: 'Save' }).click();
    const review = page.getByRole('dialog');
    await expect(review).toContainText('1 min 30 s');
    await expect(review).toContainText('bob');
    await review.getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('heading', { name: 'Changed by mistake' })).toBeVisible();
    await expect
      .poll(async () => {
        const stored = await call(page, 'GET', `/jobs/${id}`);
        return [stored.executor_timeout, stored.author];
      })
      .toEqual([30, '']);
  });

  test('several jobs are done with at once, and what is refused is told by name', async ({ signedIn: page }) => {
    await made(page, 'Bulk with a schedule', { schedule_type: 'CRON', schedule_conf: '0 0 3 1 1 ?' });
    const needed = await made(page, 'Bulk without one');
    await page.goto('/jobs?text=bulk');
    await page.getByRole('checkbox', { name: 'Select Bulk with a schedule' }).check();
    await page.getByRole('checkbox', { name: 'Select Bulk without one' }).check();
    const bar = page.getByRole('region', { name: 'What to do with the selected jobs' });
    await expect(bar).toContainText('2 jobs selected');
    const saving = page.waitForEvent('download');
    await bar.getByRole('button', { name: 'Export' }).click();
    const saved = JSON.parse(await readFile(await (await saving).path(), 'utf8'));
    const names = (saved.jobs as { job_desc: string; job_group: string }[]).map((one) => one.job_desc);
    expect(names.sort()).toEqual(['Bulk with a schedule', 'Bulk without one']);
    const parent = await made(page, 'Needs one', { child_jobid: [needed] });
    await bar.getByRole('button', { name: 'Delete' }).click();
    const dialog = page.getByRole('dialog', { name: 'Delete 2 jobs?' });
    await expect(dialog).toContainText('1 job is refused:');
    await expect(dialog.getByRole('listitem')).toHaveText(['Bulk with a schedule', /^Bulk without one: Job/]);
    await dialog.getByRole('button', { name: 'Delete' }).click();
    const again = page.getByRole('dialog', { name: 'Delete 1 job?' }); // the other one is deleted
    await expect(again.getByRole('alert')).toContainText('Done for 1, not for 1.');
    await expect(again.getByRole('alert')).toContainText('Bulk without one: Job');
    await again.getByRole('button', { name: 'Cancel' }).click();
    await expect(bar).toContainText('1 job selected');
    await call(page, 'DELETE', `/jobs/${parent}`);
    await bar.getByRole('button', { name: 'Start' }).click();
    const starting = page.getByRole('dialog', { name: 'Start' });
    await expect(starting).toContainText('No matching job would change.');
    await expect(starting.getByRole('button', { name: 'Start' })).toBeDisabled();
    await starting.getByRole('button', { name: 'Cancel' }).click();
    await call(page, 'DELETE', `/jobs/${needed}`);
  });
});

test('who may only look is offered nothing else', async ({ signedIn: admin, browser }) => {
  const secret = 'only-for-looking-2026';
  await call(admin, 'POST', '/users', { username: 'jobs-viewer', password: secret, role: 'viewer' });
  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  await signIn(page, '', { username: 'jobs-viewer', password: secret });
  await page.goto('/jobs');
  await expect(row(page, 'Greet the customers')).toContainText('on');
  for (const role of ['switch', 'checkbox'] as const) await expect(page.getByRole(role)).toHaveCount(0);
  await expect(page.getByRole('button', { name: /Run|Edit|New job/ })).toHaveCount(0);
  await page.goto(`/jobs/${jobs['Greet the customers']}`);
  await expect(page.getByRole('list', { name: 'Coming fires' })).toBeVisible();
  await expect(page.getByRole('button', { name: /Run once|Stop|Edit|Copy|Delete/ })).toHaveCount(0);
  await page.goto('/jobs/new');
  await expect(page.getByText('You may not edit this')).toBeVisible();
  const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
  const refused = await page.request.post(`/api/v1/jobs/${jobs['Greet the customers']}/stop`, {
    headers: { 'X-CSRF-Token': csrf_token },
  });
  expect(refused.status()).toBe(403);
  await context.close();
});
