import { ended } from './calling';
import { expect, jobs, test } from './stage';

test('every status is shown as its tag', async ({ signedIn: page }) => {
  await page.goto('/executions');
  for (const tag of ['Success 200/200', 'Failed 200/500', 'Timeout 200/502', 'Pending 200/0', 'Trigger Failed 500/0']) {
    await expect(page.getByRole('button', { name: tag }).first()).toBeVisible();
  }
});

test('an execution of code has no empty place where others name their handler', async ({ signedIn: page }) => {
  const id = await ended(page, jobs['Clean the archive'] ?? 0);
  await page.goto(`/executions?job_id=${jobs['Clean the archive']}`);
  const number = page.locator('.cell-sub', { has: page.getByRole('link', { name: `#${id}`, exact: true }) });
  await expect(number).toHaveText(`#${id}`);
});

test('the tag opens by keyboard, shows the raw messages, and Esc closes it', async ({ signedIn: page }) => {
  await page.goto(`/executions?status=failed&job_id=${jobs['Collect prices of all suppliers']}`); // other stories fail in their own ways
  const tag = page.getByRole('button', { name: 'Failed 200/500' }).first();
  await tag.focus();
  await page.keyboard.press('Enter');
  const box = page.getByRole('dialog', { name: 'Messages behind this status' });
  await expect(box).toContainText('the supplier sent no prices for 2026-01-30');
  await expect(box.getByRole('button', { name: 'Copy the execution message' })).toBeVisible();
  await expect(box.getByRole('link', { name: 'Open the log' })).toBeVisible();
  await expect(box.getByRole('region', { name: 'Why' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(box).toBeHidden();
  await expect(tag).toBeFocused();
  await page.keyboard.press('Space');
  await expect(box).toBeVisible();
});

test('what a tag shows is wholly in the window, however small that is', async ({ signedIn: page }) => {
  for (const [width, height] of [
    [1366, 768],
    [1280, 720],
    [1280, 800],
    [390, 844],
    [320, 700],
  ] as const) {
    await page.setViewportSize({ width, height });
    await page.goto(`/executions?status=failed&job_id=${jobs['Collect prices of all suppliers']}`);
    await page.getByRole('button', { name: 'Failed 200/500' }).first().click();
    const box = page.getByRole('dialog', { name: 'Messages behind this status' });
    await expect(box.getByRole('region', { name: 'Why' })).toBeVisible();
    const outside = () =>
      page.locator('.ant-popover').evaluate((popover) => {
        const { left, top, right, bottom } = popover.getBoundingClientRect();
        return left < 0 || top < 0 || right > window.innerWidth || bottom > window.innerHeight;
      });
    await expect.poll(outside, `at ${width}`).toBe(false);
    const log = box.getByRole('link', { name: 'Open the log' });
    await expect(log, `at ${width}`).toBeInViewport({ ratio: 1 });
    const cut = () =>
      log.evaluate(
        (link) =>
          document.elementFromPoint(link.getBoundingClientRect().x + 4, link.getBoundingClientRect().y + 4) !== link,
      );
    expect(await cut(), `at ${width}`).toBe(false);
    await log.click();
    await expect(page).toHaveURL(/\/log$/);
  }
});

test('to select a row moves none', async ({ signedIn: page }) => {
  await page.goto('/executions?status=failed');
  const row = page.locator('tr[data-row-key]').first();
  const box = row.getByRole('checkbox');
  await expect(box).toBeVisible();
  await page.waitForLoadState('networkidle');
  const before = (await row.boundingBox())?.y;
  await box.check();
  await expect(page.getByRole('toolbar')).toBeInViewport();
  expect((await row.boundingBox())?.y).toBe(before);
});

test('filters are in the address and survive a reload and Back', async ({ signedIn: page }) => {
  await page.goto('/executions');
  await page.getByRole('combobox', { name: 'Any status' }).click();
  await page.getByTitle('Timeout', { exact: true }).click();
  await expect(page).toHaveURL(/status=timeout/);
  await expect(page.getByRole('button', { name: 'Success 200/200' })).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole('button', { name: 'Timeout 200/502' })).toHaveCount(1);
  await page.goBack();
  await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
});

test('all that went wrong is one list, and one link to it', async ({ signedIn: page }) => {
  await page.goto('/executions?status=failed,timeout&since=24h');
  await expect(page.getByRole('button', { name: 'Failed 200/500' }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Timeout 200/502' }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: 'Success 200/200' })).toHaveCount(0);
  const chart = page.getByRole('figure', { name: /^Executions by hour/ });
  await expect(chart.locator('.histogram-key')).toHaveText(['Timeout', 'Failed']);
  await expect(page.getByRole('button', { name: 'Retry all that match' })).toBeVisible();
  await page.getByRole('combobox', { name: 'Any status' }).click();
  await page.getByTitle('Trigger Failed', { exact: true }).click();
  await expect(page).toHaveURL(/status=failed%2Ctimeout%2Ctrigger_failed/);
  await expect(page.getByRole('button', { name: 'Trigger Failed 500/0' }).first()).toBeVisible();
  await page.getByTitle('Pending', { exact: true }).click();
  await expect(page.getByRole('button', { name: 'Pending 200/0' }).first()).toBeVisible();
  await expect(page.getByRole('button', { name: /that match/ })).toHaveCount(0); // it would be done to a part of what is shown
  await expect(page.getByText('What is open has not ended, so it is in no bar.')).toBeVisible();
});

test('an executor is chosen from those that are known, or typed', async ({ signedIn: page }) => {
  await page.goto('/executions');
  const choice = page.getByRole('combobox', { name: 'Any executor' });
  await choice.click();
  await page.locator('.ant-select-item-option[title^="http"]').first().click();
  await expect(page).toHaveURL(/executor=http/);
  await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
  await choice.click();
  await choice.fill('http://gone:9999');
  await page.locator('.ant-select-item-option[title="http://gone:9999"]').click();
  await expect(page).toHaveURL(/executor=http%3A%2F%2Fgone%3A9999/);
  await expect(page.getByText('Nothing matches these filters')).toBeVisible();
});

test('on a slow machine no choice undoes the one before, nor Back', async ({ signedIn: page }) => {
  test.slow();
  await page.goto('/executions');
  await expect(page.getByRole('button', { name: 'Success 200/200' }).first()).toBeVisible();
  const wire = await page.context().newCDPSession(page);
  await wire.send('Emulation.setCPUThrottlingRate', { rate: 6 });
  /** At once, as no mouse could: the list has not shown what was chosen before. */
  const press = (...names: string[]) =>
    page.evaluate((all) => {
      for (const name of all) document.querySelector<HTMLElement>(name)?.click();
    }, names);
  const [failed, duration] = ['.ant-select-item-option[title="Failed"]', '.ant-table-column-has-sorters'];
  await page.getByRole('combobox', { name: 'Any status' }).click();
  await press(failed);
  await expect(page).toHaveURL(/\/executions\?status=failed$/);
  await page.goBack();
  await press(duration);
  await expect(page).toHaveURL(/\/executions\?sort=duration$/);
  await page.goBack();
  await expect(page.getByRole('columnheader', { name: 'Duration' })).not.toHaveAttribute('aria-sort', /.+/);
  await page.getByRole('combobox', { name: 'Any status' }).click();
  await press(failed, duration);
  await expect(page).toHaveURL(/\/executions\?status=failed&sort=duration$/);
  await wire.detach();
});

test('a job is chosen by its name, which the address and a reload keep', async ({ signedIn: page }) => {
  await page.goto('/executions');
  const choice = page.getByRole('combobox', { name: 'Any job' });
  await choice.click();
  await choice.fill('suppliers');
  await page.locator('.ant-select-item[title="Collect prices of all suppliers"]').click();
  await expect(page).toHaveURL(new RegExp(`job_id=${jobs['Collect prices of all suppliers']}`));
  await expect(page.getByRole('button', { name: 'Success 200/200' })).toHaveCount(0);
  await page.reload();
  const filters = page.getByRole('search');
  await expect(filters.getByTitle('Collect prices of all suppliers')).toBeVisible();
});

test('what runs is ended, after its job was named', async ({ signedIn: page }) => {
  await page.goto(`/executions?job_id=${jobs['Rebuild the search index']}`);
  await expect(page.getByRole('button', { name: 'Pending 200/0' })).toBeVisible();
  await page.getByRole('button', { name: 'Kill', exact: true }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Rebuild the search index');
  await dialog.getByRole('button', { name: 'Kill' }).click();
  await expect(page.getByRole('button', { name: 'Failed 200/500' })).toBeVisible();
});

test('everything that failed is counted before it is run again', async ({ signedIn: page }) => {
  const job = jobs['Collect prices of all suppliers'];
  await page.goto(`/executions?status=failed&job_id=${job}`);
  const failed = page.getByRole('button', { name: 'Failed 200/500' });
  await expect(failed.first()).toBeVisible();
  const before = await failed.count(); // other stories run the job too
  await page.getByRole('button', { name: 'Retry all that match' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText(/\d+ failed executions are run again\./);
  const counted = Number(/(\d+) failed/.exec((await dialog.textContent()) ?? '')?.[1]);
  await dialog.getByRole('button', { name: 'Retry all that match' }).click();
  await expect(page.getByText(`${counted} executions done.`)).toBeVisible();
  await expect(failed).toHaveCount(before + counted);
});

test('a press meets the row it was meant for, whatever arrives meanwhile', async ({ signedIn: page }) => {
  const job = jobs['Greet the customers'];
  const run = async () => {
    const { csrf_token } = await (await page.request.get('/api/v1/auth/session')).json();
    const headers = { 'X-CSRF-Token': csrf_token as string };
    const answer = await page.request.post(`/api/v1/jobs/${job}/trigger`, { headers, data: {} });
    return (await answer.json()).execution_ids[0] as number;
  };
  const first = await run();
  await page.goto(`/executions?job_id=${job}`);
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  const row = page.locator(`tr[data-row-key="${first}"]`);
  await expect(row.getByRole('button', { name: 'Success 200/200' })).toBeVisible();
  const box = await row.getByRole('button', { name: 'Retry' }).boundingBox();
  if (!box) throw new Error('There is no button.');
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  const second = await run();
  const hint = page.getByRole('button', { name: '1 new', exact: true });
  await expect(hint).toBeVisible();
  await page.mouse.down();
  await page.mouse.up();
  await expect(page.getByRole('dialog')).toContainText(`${first}`);
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await page.mouse.move(5, 5);
  await expect(hint).toHaveCount(0);
  await expect(page.getByRole('row').nth(1)).toContainText(`#${second}`);
  await row.getByRole('button', { name: 'Success 200/200' }).click();
  await page.mouse.move(5, 5);
  const where = await row.boundingBox();
  await run();
  await expect(hint).toBeVisible(); // what is open belongs to its row, so the rows wait
  expect(await row.boundingBox()).toEqual(where);
  await page.keyboard.press('Escape');
});

test('dragging over the bars chooses a span', async ({ signedIn: page }) => {
  await page.goto('/executions');
  const bars = page.getByRole('slider');
  const box = await bars.boundingBox();
  if (!box) throw new Error('There are no bars.');
  await page.mouse.move(box.x + box.width * 0.5, box.y + 10);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * 0.9, box.y + 10);
  await page.mouse.up();
  await expect(page).toHaveURL(/since=.*until=/);
});

test.describe('of several that are selected', () => {
  test.use({ refusals: [404, 409, 422] });

  test('one that is refused does not keep the others, and none is run twice', async ({ signedIn: page }) => {
    const session = await (await page.request.get('/api/v1/auth/session')).json();
    const call = async (method: string, path: string, data?: object) => {
      const headers = { 'X-CSRF-Token': session.csrf_token as string };
      const answer = await page.request.fetch(`/api/v1${path}`, { method, headers, ...(data && { data }) });
      expect(answer.ok(), `${method} ${path}: ${answer.status()}`).toBe(true);
      return answer.status() === 204 ? null : await answer.json();
    };
    const { job_group } = await call('GET', `/jobs/${jobs['Greet the customers']}`);
    const made = async (job_desc: string, executor_handler: string): Promise<number> =>
      (await call('POST', '/jobs', { job_group, job_desc, executor_handler })).id;
    const [works, fails] = [await made('Count the parcels', 'greet'), await made('Count the pallets', 'stumble')];
    const ran: number[] = [];
    for (const job of [works, fails, works])
      ran.push((await call('POST', `/jobs/${job}/trigger`, {})).execution_ids[0]);
    const ended = async (id: number) => (await call('GET', `/executions/${id}`)).status;
    for (const id of ran) await expect.poll(() => ended(id)).toMatch(/success|failed/);
    await call('POST', `/executions/${ran[1]}/retry`); // so that it was tried since

    await page.goto('/executions?status=success,failed');
    for (const id of ran) await page.getByRole('checkbox', { name: `Select execution ${id}` }).check();
    await page.getByRole('toolbar').getByRole('button', { name: 'Retry' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await expect(dialog.getByRole('alert')).toContainText('Done for 2, not for 1.');
    await expect(dialog.getByRole('alert')).toContainText(`#${ran[1]} `);
    await expect(dialog).toContainText('1 execution is run again');
    await dialog.getByRole('button', { name: 'Retry' }).click();
    await expect(dialog.getByRole('alert')).toContainText('Done for 0, not for 1.');
    expect((await call('GET', `/executions?job_id=${works}`)).items).toHaveLength(4);
    const succeeded = async () => (await call('GET', `/executions?job_id=${works}&status=success`)).items.length;
    await expect.poll(succeeded).toBe(4);
    for (const job of [works, fails]) await call('DELETE', `/jobs/${job}`);
  });
});

test('a filter that means nothing is told, and nothing is done by it', async ({ signedIn: page }) => {
  await page.goto('/executions?job_group=1&job_id=abc');
  const notice = page.getByRole('alert');
  await expect(notice).toContainText('job_id=abc');
  await expect(page.getByRole('button', { name: 'Retry all that match' })).toHaveCount(0);
  await expect(page.getByRole('table')).toHaveCount(0);
  await notice.getByRole('button', { name: 'Remove it' }).click();
  await expect(page).toHaveURL(/\/executions\?job_group=1$/);
  await expect(page.getByRole('button', { name: 'Retry all that match' })).toBeVisible();
  for (const strange of ['job=999999', 'min_duration=30s', 'since=abc', 'status=failed,lost']) {
    await page.goto(`/executions?job_group=1&${strange}`);
    await expect(notice).toContainText(strange);
    await expect(page.getByRole('button', { name: 'Retry all that match' })).toHaveCount(0);
    await expect(page.getByRole('table')).toHaveCount(0);
    await notice.getByRole('button', { name: 'Remove it' }).click();
    await expect(page).toHaveURL(/\/executions\?job_group=1$/);
  }
  await page.goto('/jobs?handler=greet');
  await expect(page.getByRole('alert')).toContainText('handler=greet');
  await expect(page.getByRole('table')).toHaveCount(0);
  await page.goto('/jobs?only=bogus');
  await expect(page.getByRole('alert')).toContainText('only=bogus');
  await expect(page.getByRole('table')).toHaveCount(0);
});

test('the longest come first where one asks for them, and the address keeps it', async ({ signedIn: page }) => {
  await page.goto('/executions?status=success');
  await page.getByRole('columnheader', { name: /^Duration/ }).click();
  await expect(page).toHaveURL(/sort=duration/);
  const answer = await page.request.get('/api/v1/executions?status=success&sort=duration&limit=50');
  const first = (await answer.json()).items[0].id as number;
  await expect(page.getByRole('row').nth(1)).toContainText(`#${first}`);
  await page.reload();
  await expect(page.getByRole('columnheader', { name: /^Duration/ })).toHaveAttribute('aria-sort', 'descending');
  await page.getByRole('columnheader', { name: /^Duration/ }).click();
  await expect(page).not.toHaveURL(/sort=/);
});

test('the bars count the status that is asked for and no other', async ({ signedIn: page }) => {
  await page.goto('/executions?since=24h');
  const chart = page.getByRole('figure', { name: /^Executions by hour/ });
  await expect(chart.locator('rect.ending-success').first()).toBeVisible();
  await page.goto('/executions?since=24h&status=failed');
  await expect(chart.locator('rect.ending-failed').first()).toBeVisible();
  await expect(chart.locator('rect.ending-success')).toHaveCount(0);
  await expect(chart.locator('.histogram-key')).toHaveText(['Failed']);
  await page.goto('/executions?since=24h&status=pending');
  await expect(page.getByText('What is open has not ended, so it is in no bar.')).toBeVisible();
  await page.goto('/executions?since=24h&cause=manual');
  await expect(page.getByText('the other filters apply to the list alone')).toBeVisible();
});
