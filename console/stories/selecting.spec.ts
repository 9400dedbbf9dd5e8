import { call, made } from './calling';
import { expect, test } from './stage';

test('what is selected stays, and in its place, when it no longer fits the filter', async ({ signedIn: page }) => {
  const job = await made(page, 'Weigh the parcels', {
    executor_handler: 'linger',
    executor_block_strategy: 'CONCURRENT',
  });
  const ids: number[] = [];
  for (let run = 0; run < 2; run++) ids.push((await call(page, 'POST', `/jobs/${job}/trigger`, {})).execution_ids[0]);
  await page.goto(`/executions?status=pending&job_id=${job}`);
  const row = (id: number) => page.getByRole('row', { name: `#${id}` });
  for (const id of ids) await expect(row(id)).toBeVisible();
  await page.getByRole('checkbox', { name: 'Select all' }).check();
  await page.mouse.move(1, 1);
  await expect(page.getByRole('toolbar')).toContainText('2 selected');

  await call(page, 'POST', `/executions/${ids[0]}/kill`);
  await expect(page.getByRole('button', { name: 'The list has changed' })).toBeVisible();
  for (const id of ids) await expect(row(id)).toBeVisible();
  await expect(page.getByRole('toolbar')).toContainText('2 selected');
  await page.getByRole('button', { name: 'The list has changed' }).click();
  await expect(row(ids[0] ?? 0)).toHaveCount(0);
  await expect(page.getByRole('toolbar'), 'it was not taken back').toContainText('2 selected');
  await page.getByRole('toolbar').getByRole('button', { name: 'Select none' }).click();
  await expect(page.getByRole('toolbar')).toHaveCount(0);
  await call(page, 'POST', `/executions/${ids[1]}/kill`);
});
