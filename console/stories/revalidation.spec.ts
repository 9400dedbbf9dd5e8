// What a page has already is not sent again: the server is asked whether it is still the same.

import { expect, test } from './stage';

test('a list that has not changed costs a few hundred bytes, and is shown as before', async ({ signedIn: page }) => {
  const list = '/api/v1/scripts';
  const asked = () => page.waitForResponse((answer) => new URL(answer.url()).pathname === list);
  const first = asked();
  await page.goto('/scripts');
  const sent = await first;
  const tag = await sent.headerValue('ETag');
  expect(tag).toMatch(/^W\/"/);
  await expect(page.getByRole('link', { name: 'Clean the archive' })).toBeVisible();
  const second = asked();
  await page.reload();
  const again = await second;
  expect(await again.headerValue('ETag')).toBe(tag);
  expect(again.request().headers()).toBeDefined();
  expect((await again.request().allHeaders())['if-none-match']).toBe(tag);
  expect((await again.request().sizes()).responseBodySize).toBe(0);
  await expect(page.getByRole('link', { name: 'Clean the archive' })).toBeVisible();
});
