// What is typed and chosen: kept as it is, found by the names people know, and in the language of the page.

import { call, made } from './calling';
import { expect, jobs, test } from './stage';

const QUERY = 'SELECT price\nFROM suppliers';

test('lines of a parameter are kept, typed and sent', async ({ signedIn: page }) => {
  const id = await made(page, 'Ask the suppliers', { executor_handler: 'ask', executor_param: QUERY });
  await page.goto(`/jobs/${id}`);
  // It is known late what the handler takes: no field is exchanged for another under somebody's hands.
  await page.route('**/groups/*/handlers', (route) => setTimeout(() => route.continue(), 1_000));
  await page.getByRole('button', { name: 'Run once' }).first().click();
  const dialog = page.getByRole('dialog');
  const param = dialog.getByRole('textbox', { name: 'Parameter' });
  await expect(param).toHaveValue(QUERY);
  await param.press('ControlOrMeta+End');
  await page.keyboard.press('Enter');
  await page.keyboard.type('LIMIT 1', { delay: 150 });
  await dialog.getByRole('button', { name: 'Run', exact: true }).click();
  await expect(page).toHaveURL(/\/executions\/\d+$/);
  const run = await call(page, 'GET', `/executions/${page.url().split('/').at(-1)}`);
  expect(run.executor_param).toBe(`${QUERY}\nLIMIT 1`);
});

test('one wrong argument is marked alone, and one that the handler does not take is shown', async ({
  signedIn: page,
}) => {
  const id = await made(page, 'Collect too much', { executor_handler: 'collect', executor_param: '{"supplier": "a"}' });
  // As it was saved before its handler changed: what does not fit is refused now.
  await page.route(`**/api/v1/jobs/${id}`, async (route) => {
    const answer = await route.fetch();
    const param = '{"supplier": "north\\nsouth", "pages": 1000, "zzz": 1}';
    await route.fulfill({ response: answer, json: { ...(await answer.json()), executor_param: param } });
  });
  await page.goto(`/jobs/${id}/edit`);
  await expect(page.getByLabel(/^supplier/)).toHaveValue('north\nsouth');
  await expect(page.getByText('The handler does not take it')).toBeVisible();
  await page.getByLabel('zzz').fill('');
  await expect(page.getByLabel('zzz')).toHaveCount(0);
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('A value is not right')).toBeVisible();
  const red = page.locator('.param-field').filter({ has: page.locator('[class*="status-error"]') });
  await expect(red).toHaveCount(1);
  await expect(red).toContainText('pages');
});

for (const [typed, zone] of [
  ['kolkata', 'Asia/Kolkata'],
  ['new york', 'America/New_York'],
  ['us/pacific', 'US/Pacific'],
  ['Etc/UTC', 'Etc/UTC'],
  ['buenos aires', 'America/Argentina/Buenos_Aires'],
] as const) {
  test(`a job is put into the zone ${zone} by “${typed}”`, async ({ signedIn: page }) => {
    await page.goto('/jobs/new');
    const field = page.getByRole('combobox', { name: 'Time zone', exact: true });
    await field.fill(typed);
    await expect(page.locator('.ant-select-item-option-active')).toHaveAttribute('title', zone);
    await field.press('Enter');
    await expect(page.locator('.editor-side')).toContainText(zone);
    await expect(page.getByRole('list', { name: 'Coming fires' }).getByRole('listitem')).toHaveCount(10);
  });
}

test('what is shown is shown in a zone of a new name, and what is no zone is said to be none', async ({
  signedIn: page,
}) => {
  await page.goto('/settings');
  const field = page.getByRole('main').getByRole('combobox', { name: 'Time zone of what is shown' });
  await field.fill('Atlantis');
  await expect(page.getByText('There is no time zone “Atlantis”.')).toBeVisible();
  await field.press('Enter');
  await expect(page.getByText('There is no time zone “Atlantis”.')).toBeVisible();
  await field.fill('kyiv');
  await expect(page.locator('.ant-select-item-option-active')).toHaveAttribute('title', 'Europe/Kyiv');
  await field.press('Enter');
  await expect(page.getByRole('group', { name: 'Time zone' })).toContainText('Europe/Kyiv');
  await page.goto(`/jobs/${jobs['Greet the customers']}`);
  await expect(page.locator('time[title*="GMT+"]').first()).toBeVisible();
});

test('a double click on what opens a dialog leaves it open', async ({ signedIn: page }) => {
  const dialog = page.getByRole('dialog');
  await page.goto(`/jobs/${jobs['Greet the customers']}`);
  await page.getByRole('button', { name: 'Run once' }).first().dblclick();
  await expect(dialog).toBeVisible();
  await page.mouse.click(5, 890);
  await expect(dialog).toBeHidden();
  await page.goto('/jobs');
  await page.getByRole('button', { name: 'Run Greet the customers once' }).dblclick();
  await expect(dialog).toBeVisible();
  await page.goto(`/jobs/${jobs['Greet the customers']}/edit`);
  await page.getByLabel('Author').fill('Ann');
  await page.getByRole('button', { name: 'Save' }).dblclick();
  await expect(dialog).toBeVisible();
});

test('an emptied schedule is called empty, and a named one is read', async ({ signedIn: page }) => {
  await page.goto('/jobs/new');
  const conf = page.getByRole('textbox', { name: 'Cron expression' });
  await conf.fill('');
  await expect(page.getByText('There is no schedule yet.')).toBeVisible();
  await expect(page.getByText('It does not fire by itself.')).toHaveCount(0);
  await conf.fill('@daily');
  await expect(page.getByText('At 00:00, UTC', { exact: true })).toBeVisible();
  await expect(page.getByLabel('Time of day')).toHaveValue('00:00');
  await page.getByLabel('Time of day').fill('25:00');
  await expect(page.getByLabel('Time of day')).toHaveAttribute('aria-invalid', 'true');
  await page.getByLabel('Time of day').blur();
  await expect(page.getByLabel('Time of day')).toHaveValue('00:00');
});

test('an empty name is called empty, once', async ({ signedIn: page }) => {
  await page.goto('/admin/users');
  await page.getByRole('button', { name: 'Add user' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Add user' }).click();
  await expect(dialog.locator('.ant-form-item-explain-error')).toHaveText(['Please fill this in.']);
});

test('no button that takes a choice back is named in another language', async ({ signedIn: page }) => {
  await page.addInitScript(() => localStorage.setItem('orth.preferences', JSON.stringify({ language: 'fr' })));
  const { job_group } = await call(page, 'GET', `/jobs/${jobs['Greet the customers']}`);
  const pages = [
    `/jobs?job_group=${job_group}`,
    `/executions?job_group=${job_group}&status=success`,
    `/timeline?job_group=${job_group}`,
    `/jobs/${jobs['Nightly report']}/edit`,
  ];
  for (const address of pages) {
    await page.goto(address);
    const clearing = page.locator('.ant-select-clear');
    await expect(clearing.first()).toBeAttached();
    const names = await clearing.evaluateAll((all) => all.map((one) => one.getAttribute('aria-label')));
    expect(new Set(names), address).toEqual(new Set(['Effacer']));
  }
  await expect(page.getByLabel('Heure', { exact: true })).toHaveValue('02:30');
});

test('a job may overlap across executors when the editor says so', async ({ signedIn: page }) => {
  const id = await made(page, 'May overlap');
  expect((await call(page, 'GET', `/jobs/${id}`)).overlap).toBe('cluster');
  await page.goto(`/jobs/${id}/edit`);
  await page.getByRole('combobox', { name: 'Applies to' }).click();
  await page.getByTitle('Each executor').click();
  await expect(page.getByText('Executions on different executors may run at the same time').first()).toBeVisible();
  await page.getByRole('button', { name: 'Save' }).click();
  const changes = page.getByRole('dialog');
  await expect(changes).toContainText('Each executor');
  await changes.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('heading', { level: 1, name: 'May overlap' })).toBeVisible();
  expect((await call(page, 'GET', `/jobs/${id}`)).overlap).toBe('executor');
  await call(page, 'DELETE', `/jobs/${id}`);
});
