import { type APIRequestContext, expect } from '@playwright/test';
import { made } from './calling';
import { jobs, password, signIn, test, user } from './stage';

const JOB = 'Clean the archive';

test('code is written, tried, saved with a remark, compared and rolled back', async ({ signedIn: page }) => {
  await page.goto('/scripts');
  await page.getByRole('link', { name: JOB }).click();
  const editor = page.getByRole('textbox', { name: /Code of Clean the archive/ });
  await expect(editor).toContainText('cleaned the archive');
  await expect(page.getByText(/Shell\s*run by\s*sh ·/)).toBeVisible();
  await expect(page.getByText('Editors and administrators of the group Stories may edit')).toBeVisible();
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('echo and swept the floor');

  await page.getByRole('tab', { name: 'Test run' }).click();
  await page.getByRole('combobox', { name: 'Executor' }).click();
  await page.locator('.ant-select-item-option').first().click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const side = page.getByRole('region', { name: 'Versions and test run' });
  await expect(side.getByRole('button', { name: 'Success 200/200' })).toBeVisible({ timeout: 20_000 });
  await expect(side.getByText('and swept the floor').first()).toBeVisible();

  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('What was changed').fill('sweep the floor');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('Saved as a new version.')).toBeVisible();
  await page.getByRole('tab', { name: 'Versions' }).click();
  await expect(side.getByRole('listitem').first()).toContainText('sweep the floor');

  const oldest = side.getByRole('listitem').filter({ hasText: 'the first version' });
  await oldest.getByRole('button', { name: 'Compare' }).click();
  const compared = page.getByRole('dialog', { name: 'Compare versions' });
  await expect(compared.locator('.cm-merge-b .cm-changedLine')).toContainText('and swept the floor');
  await compared.getByRole('button', { name: 'Close' }).click();
  await oldest.getByRole('button', { name: 'Roll back' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click();
  await expect(editor).not.toContainText('swept the floor');
  await expect(side.getByRole('listitem').first()).toContainText('Back to version');
});

test('who leaves with unsaved code is asked first, by a link, by Back and by signing out', async ({
  signedIn: page,
}) => {
  await page.goto('/scripts');
  await page.getByRole('link', { name: JOB }).click();
  const editor = page.getByRole('textbox', { name: /Code of Clean the archive/ });
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('echo not saved');
  const signOut = async () => {
    await page.getByRole('button', { name: /^Signed in as/ }).click();
    await page.getByRole('menuitem', { name: 'Sign out' }).click();
  };
  const link = page.getByRole('link', { name: 'Jobs', exact: true });
  for (const leave of [() => link.click(), () => page.goBack(), signOut]) {
    await leave();
    const asked = page.getByRole('dialog').filter({ hasText: 'Leave without saving?' });
    await asked.getByRole('button', { name: 'Stay' }).click();
    await expect(asked).toBeHidden();
    await expect(editor).toContainText('echo not saved');
  }
  await link.click();
  await page.getByRole('dialog').getByRole('button', { name: 'Leave' }).click();
  await expect(page).toHaveURL(/\/jobs$/);
});

test('what somebody else saved meanwhile is not written over', async ({ page, request }) => {
  await signIn(page);
  await page.goto(`/scripts/${jobs[JOB]}`);
  const editor = page.getByRole('textbox', { name: /Code of Clean the archive/ });
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('echo mine');
  await saveElsewhere(request, jobs[JOB] ?? 0, 'echo theirs\n');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('What was changed').fill('my own change');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  const conflict = page.getByRole('dialog', { name: 'admin saved this code meanwhile' });
  await expect(conflict.locator('.cm-merge-a')).toContainText('echo theirs');
  await expect(conflict.locator('.cm-merge-b')).toContainText('echo mine');
  await conflict.getByRole('button', { name: 'Take the saved one' }).click();
  await expect(editor).toHaveText('echo theirs');
});

test('what somebody else saves is seen at once, and takes nothing away that was typed', async ({
  signedIn: page,
  request,
}) => {
  await page.goto(`/scripts/${jobs[JOB]}`);
  const editor = page.getByRole('textbox', { name: /Code of Clean the archive/ });
  const newest = page.getByRole('region', { name: 'Versions and test run' }).getByRole('listitem').first();
  await expect(newest).toContainText('runs now');
  await saveElsewhere(request, jobs[JOB] ?? 0, 'echo one\n', 'one from elsewhere');
  await expect(editor).toHaveText('echo one');
  await expect(newest).toContainText('one from elsewhere runs now');

  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('echo mine');
  await saveElsewhere(request, jobs[JOB] ?? 0, 'echo two\n', 'two from elsewhere');
  await expect(newest).toContainText('two from elsewhere runs now');
  const told = page.getByRole('alert').filter({ hasText: 'admin saved this code meanwhile' });
  await expect(told).toContainText('two from elsewhere');
  await expect(editor).toContainText('echo mine');
  await told.getByRole('button', { name: 'Compare' }).click();
  const both = page.getByRole('dialog', { name: 'admin saved this code meanwhile' });
  await expect(both.locator('.cm-merge-b')).toContainText('echo mine');
  await both.getByRole('button', { name: 'Take the saved one' }).click();
  await expect(editor).toHaveText('echo two');
  await expect(told).toBeHidden();
});

test.describe('a script that is not there', () => {
  test.use({ refusals: [404] });

  test('may be one that one may not see, and is not asked for again', async ({ signedIn: page }) => {
    await page.goto('/scripts/999999');
    await expect(page.getByRole('heading', { name: 'There is no such script' })).toBeVisible();
    await expect(page.getByText('It was deleted, or you may not see it.')).toBeVisible();
    await expect(page.getByRole('button', { name: 'Try again' })).toHaveCount(0);
  });
});

test('code that its executor does not take is refused with the reason, and with no word of a log', async ({
  signedIn: page,
}) => {
  const code = {
    executor_handler: '',
    glue_type: 'GLUE_NODEJS',
    glue_source: 'console.log(1)\n',
    glue_remark: 'first',
  };
  const job = await made(page, 'Count in Node', code);
  await page.goto(`/scripts/${job}`);
  await page.getByRole('tab', { name: 'Test run' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  const side = page.getByRole('region', { name: 'Versions and test run' });
  await expect(side.getByRole('button', { name: /^Trigger Failed/ })).toBeVisible({ timeout: 20_000 });
  await expect(side.getByRole('region', { name: 'Why' })).toContainText('do not allow code of this kind');
  await expect(side.locator('.log-viewer')).toContainText('No executor had it, so nothing was written');
  await expect(side.locator('.log-viewer')).not.toContainText('archive');
  await side.getByRole('link', { name: /^Execution \d+$/ }).click();
  await expect(page.locator('.log-viewer')).toContainText('No executor had it, so nothing was written');
  await expect(page.locator('.page-head p')).not.toContainText('· ·');
});

test('a line that is added ends as the others do, and nothing else changes', async ({ page, request }) => {
  await signIn(page);
  await saveElsewhere(request, jobs[JOB] ?? 0, 'echo one\r\necho two\r\n');
  await page.goto(`/scripts/${jobs[JOB]}`);
  const editor = page.getByRole('textbox', { name: /Code of Clean the archive/ });
  await editor.click();
  await page.keyboard.press('Control+End');
  await page.keyboard.type('echo three\n');
  const tried = page.waitForRequest(/\/test$/);
  await page.getByRole('tab', { name: 'Test run' }).click();
  await page.getByRole('button', { name: 'Run', exact: true }).click();
  expect((await tried).postDataJSON().source).toBe('echo one\r\necho two\r\necho three\r\n');
  const sent = page.waitForRequest((one) => one.method() === 'PUT');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByLabel('What was changed').fill('count to three');
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
  expect((await sent).postDataJSON().glue_source).toBe('echo one\r\necho two\r\necho three\r\n');
});

test.describe('a script that declares what it needs and takes', () => {
  test.use({ refusals: [422] });

  const header = [
    '# /// script',
    '# dependencies = ["curl"]',
    '# [tool.orth.params.day]',
    '# type = "string"',
    '# description = "Which day to clean"',
    '# required = true',
    '# [tool.orth.params.limit]',
    '# type = "integer"',
    '# default = 10',
    '# maximum = 100',
    '# ///',
  ].join('\n');
  const code = {
    executor_handler: '',
    glue_type: 'GLUE_SHELL',
    glue_source: `${header}\necho "given $1"\n`,
    glue_remark: 'first',
  };

  test('shows both, and everybody who runs it gets a form', async ({ signedIn: page }) => {
    const job = await made(page, 'Clean one day', code);
    await page.goto(`/scripts/${job}`);
    const side = page.getByRole('region', { name: 'Versions and test run' });
    await expect(side.locator('.declared')).toContainText('Needscurl');
    await expect(side.locator('.declared')).toContainText('day string · required · Which day to clean');
    await page.getByRole('tab', { name: 'Test run' }).click();
    await side.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(side.getByRole('alert')).toContainText('day');
    await side.getByRole('textbox', { name: 'day' }).fill('monday');
    await side.getByRole('textbox', { name: 'limit' }).fill('7');
    await side.getByRole('button', { name: 'Run', exact: true }).click();
    await expect(side.locator('.log-viewer')).toContainText('given {"day":"monday","limit":7}', { timeout: 20_000 });

    await page.goto(`/jobs/${job}/edit`);
    await expect(page.getByRole('textbox', { name: 'limit' })).toHaveAttribute('placeholder', '10');
    await expect(page.getByLabel('Handler')).toHaveCount(0);
    await page.getByRole('textbox', { name: 'day' }).fill('tuesday');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect(page).toHaveURL(new RegExp(`/jobs/${job}$`));
    await page.getByRole('button', { name: 'Run once' }).click();
    await expect(page.getByRole('dialog').getByRole('textbox', { name: 'day' })).toHaveValue('tuesday');
    await page.getByRole('dialog').getByRole('textbox', { name: 'limit' }).fill('1000');
    await expect(page.getByRole('dialog')).toContainText('must be at most 100');
  });

  test('is told what is wrong with its header, where it is written and when it is saved', async ({
    signedIn: page,
  }) => {
    const job = await made(page, 'Clean two days', code);
    await page.goto(`/scripts/${job}`);
    const editor = page.getByRole('textbox', { name: /Code of Clean two days/ });
    await editor.click();
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.type('# needs = 1\n');
    const wrong = 'Line 2 of the code says needs, which a header does not have there.';
    await expect(page.locator('.script-side .declared')).toContainText(wrong);
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByLabel('What was changed').fill('say what it needs');
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click();
    await expect(page.getByRole('dialog').getByRole('alert')).toContainText(wrong);
  });
});

async function saveElsewhere(
  request: APIRequestContext,
  job: number,
  source: string,
  remark = 'from elsewhere',
): Promise<void> {
  const signedIn = await request.post('/api/v1/auth/login', { data: { username: user, password } });
  const headers = { Authorization: `Bearer ${(await signedIn.json()).access_token}` };
  const data = { glue_source: source, glue_remark: remark };
  expect((await request.put(`/api/v1/scripts/${job}`, { headers, data })).status()).toBe(200);
}
