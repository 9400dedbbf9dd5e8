// Where the coordinator knows under which path people find the console (`console.base_url`).

import { PREFIX, proxyUnderPrefix } from './prefix_proxy';
import { expect, password, test, url, user } from './stage';

const { origin, pathname, port } = new URL(process.env.ORTH_STORY_PUBLIC_URL ?? '');

test('the path prefix without a slash is the console as well', async ({ page }) => {
  expect(pathname).toBe(PREFIX);
  const proxy = await proxyUnderPrefix(url, { port: Number(port) });
  try {
    for (const path of [PREFIX, `${PREFIX}?from=mail`, `${PREFIX}/jobs`]) {
      await page.goto(`${origin}${path}`);
      await expect(page.getByLabel('User name')).toBeVisible();
      expect(new URL(page.url()).pathname).toBe(`${PREFIX}/login`);
    }
    await page.goto(`${origin}${PREFIX}`);
    await page.getByLabel('User name').fill(user);
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    for (const path of [PREFIX, `${PREFIX}/`]) {
      await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
      await expect(page).toHaveURL(`${origin}${PREFIX}/`);
      await page.goto(`${origin}${path}`);
    }
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    expect(proxy.strayed(), `what was asked for outside ${PREFIX}`).toEqual([]);
    await page.goto(url);
    await expect(page.getByLabel('User name')).toBeVisible();
  } finally {
    await proxy.close();
  }
});
