// What a handler says is shown as it is: characters that turn what is read are spelled out, as in its log.

import { call, ended, made } from './calling';
import { expect, test } from './stage';

const TURNING = /[\u200e\u200f\u202a-\u202e\u2066-\u2069]/;
const SPELLED = 'no answer from picture-\\u202egnp.exe';

test('a name that is turned around is not believed anywhere', async ({ signedIn: page }) => {
  const job = await made(page, 'Ask for a picture', { executor_handler: 'ask' });
  const id = await ended(page, job, 'picture-\u202egnp.exe');
  await page.goto(`/executions/${id}`);
  await expect(page.getByRole('region', { name: 'Why' })).toContainText(SPELLED);
  const seen = () => page.evaluate(() => document.body.textContent ?? '');
  for (const tab of ['Parameter and result', 'Messages', 'Events']) {
    await page.getByRole('tab', { name: tab }).click();
    await expect(page.getByRole('tabpanel')).toContainText('\\u202egnp.exe');
    expect.soft(TURNING.test(await seen()), tab).toBe(false);
  }
  await page.getByRole('button', { name: 'Failed 200/500' }).first().click();
  await expect(page.getByRole('dialog')).toContainText(SPELLED);
  expect(TURNING.test(await seen()), 'the messages of a status').toBe(false);
  await call(page, 'DELETE', `/jobs/${job}`);
});
