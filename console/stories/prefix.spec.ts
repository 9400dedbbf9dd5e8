// Behind a proxy that does TLS and serves the console under a path.

import { call } from './calling';
import { EVERY_PAGE } from './every_page';
import { PREFIX, proxyUnderPrefix } from './prefix_proxy';
import { browserOptions, expect, jobs, signIn, test, url } from './stage';

test('every page, the live lines and a log that is being written come through', async ({ signedIn, browser }) => {
  test.setTimeout(4 * 60_000);
  const proxy = await proxyUnderPrefix(url, { tls: true });
  const context = await browser.newContext({ ...browserOptions, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  const refused: string[] = [];
  const sockets = new Set<string>();
  page.on('response', (answer) => answer.status() >= 400 && refused.push(`${answer.status()} ${answer.url()}`));
  page.on('websocket', (socket) => sockets.add(new URL(socket.url()).pathname.replace(/\/\d+/, '/N')));
  try {
    await signIn(page, proxy.url);
    await expect(page.getByText('Live', { exact: true })).toBeVisible();
    refused.length = 0; // who is not signed in yet is told so
    await page.getByRole('link', { name: 'Jobs', exact: true }).click();
    await page.getByRole('link', { name: 'Dashboard', exact: true }).click();
    await expect(page).toHaveURL(`${proxy.url}/`);
    await page.reload();
    await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
    for (const path of Object.values(EVERY_PAGE).flat()) {
      await page.goto(`${proxy.url}${path}`);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(page).toHaveURL(`${proxy.url}${path === '/' ? '/' : path}`);
    }
    await page.goto(`${proxy.url}/no/such/page`);
    await expect(page.getByRole('heading', { name: 'There is no such page' })).toBeVisible();

    await page.goto(`${proxy.url}/jobs/${jobs['Talk to the suppliers']}`);
    await page.getByRole('button', { name: 'Run once' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run', exact: true }).click();
    await expect(page).toHaveURL(new RegExp(`^${proxy.url}/executions/\\d+$`));
    for (const line of ['said 1 at', 'said 4 at']) await expect(page.getByRole('log').getByText(line)).toBeVisible();
    const id = Number(page.url().split('/').at(-1));
    await call(signedIn, 'POST', `/executions/${id}/kill`);
    await expect(page.getByRole('button', { name: /^Failed 200/ })).toBeVisible();
    expect(refused).toEqual([]);
    expect(proxy.strayed(), `what was asked for outside ${PREFIX}`).toEqual([]);
    for (const path of ['/api/v1/changes', '/ws', '/api/v1/executions/N/log/ws']) {
      expect([...sockets]).toContain(`${PREFIX}${path}`);
    }
  } finally {
    await context.close();
    await proxy.close();
  }
});
