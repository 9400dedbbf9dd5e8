// Three coordinators on one database. The leader is killed and another one drained, while somebody looks at the pages
// of the third: nothing is loaded again, and both pages tell what happened.

import { join } from 'node:path';
import type { Locator, Page } from '@playwright/test';
import { browserOptions, expect, signIn, test } from './stage';

interface Coordinator {
  url: string;
  pid: number;
}

const nodes = JSON.parse(process.env.ORTH_STORY_NODES ?? '{}') as Record<string, Coordinator>;
const shots = process.env.ORTH_STORY_SHOTS;

test.describe.configure({ mode: 'serial' });

/** Who looks on: a coordinator that stays. The others are the leader of the beginning, and one more. */
let cluster: Page;
let lifecycle: Page;
let leader = '';
let third = '';

const executorPid = Number(process.env.ORTH_STORY_EXECUTOR);

/** Let a process stand still for as long as it takes to see what others make of it. */
async function frozen(pid: number, look: () => Promise<void>): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  try {
    await look();
  } finally {
    process.kill(pid, 'SIGCONT');
  }
}

function at(name: string): Coordinator {
  const found = nodes[name];
  if (!found) throw new Error(`There is no ${name}.`);
  return found;
}

function row(page: Page, table: string, node: string): Locator {
  return page.getByRole('region', { name: table }).getByRole('row').filter({ hasText: node });
}

async function stillTheSame(page: Page): Promise<void> {
  expect(await page.evaluate(() => (window as { neverReloaded?: boolean }).neverReloaded)).toBe(true);
}

/** The page of an execution marks who took it over on its bar, and tells it among what happened. */
async function seesTheNewOwner(path: string | null): Promise<void> {
  const page = await cluster.context().newPage();
  await page.goto(new URL(`${path}?tab=events`, cluster.url()).href);
  // It may have changed hands before, when the coordinators shared out what there was to look after.
  const hands = page.locator('.relative-hands li');
  await expect(hands.filter({ hasText: `${leader} → coordinator-` }).filter({ hasText: 'Crash' })).toHaveCount(1);
  await expect(async () => {
    expect(await page.locator('.span-hand').count(), 'a mark for each').toBe(await hands.count());
  }).toPass();
  await expect(page.locator('.events')).toContainText(`follows it from now on: ${leader} was not heard of any more.`);
  if (shots) await page.screenshot({ path: join(shots, 'execution-new-owner.png') });
  await page.close();
}

test.beforeAll(async ({ browser }) => {
  const context = await browser.newContext({ ...browserOptions });
  cluster = await context.newPage();
  const first = Object.values(nodes)[0] as Coordinator;
  await signIn(cluster, first.url);
  const seen = (await (await context.request.get(`${first.url}/api/v1/cluster`)).json()) as { leader: string };
  leader = seen.leader;
  const others = Object.keys(nodes).filter((name) => name !== leader);
  const watching = at(others[0] as string);
  third = others[1] as string;
  lifecycle = await context.newPage();
  await cluster.goto(`${watching.url}/cluster`);
  await lifecycle.goto(`${watching.url}/lifecycle`);
  for (const page of [cluster, lifecycle]) {
    await page.evaluate(() => {
      (window as { neverReloaded?: boolean }).neverReloaded = true;
    });
  }
});

test('the cluster shows its leader, its nodes and who owns what', async () => {
  await expect(cluster.locator('.leader-name')).toContainText(leader);
  await expect(cluster.getByRole('meter', { name: 'Seconds left of the lease' })).toBeVisible();
  for (const node of Object.keys(nodes)) await expect(row(cluster, 'Coordinators', node)).toContainText('Running');
  await expect(row(cluster, 'Coordinators', leader)).toContainText('Leader');
  await expect(row(cluster, 'Coordinators', third)).toContainText('Follower');
  await expect(cluster.locator('.past-terms li').first()).toContainText(leader);
  for (const node of Object.keys(nodes)) {
    await expect(row(lifecycle, 'Orchestrators (coordinators)', node)).toContainText('Running');
  }
  if (shots) await cluster.screenshot({ path: join(shots, 'cluster-of-three.png') });
});

test('who reaches an executor is seen in low rows, and no name is broken, in French at 1280 px', async ({
  browser,
}) => {
  const state = await cluster.context().storageState();
  const context = await browser.newContext({
    ...browserOptions,
    viewport: { width: 1280, height: 800 },
    storageState: state,
  });
  const page = await context.newPage();
  const kept = JSON.stringify({ language: 'fr' });
  await page.addInitScript((preferences) => localStorage.setItem('orth.preferences', preferences), kept);
  await page.goto(new URL('/executors', cluster.url()).href);
  const executor = page.locator('.instances tr[data-row-key]').first();
  await expect(executor.locator('.reach-node')).toHaveCount(Object.keys(nodes).length);
  const names = await executor
    .locator('.reach-node')
    .evaluateAll((all) =>
      all.map((one) => ({ high: one.getBoundingClientRect().height, cut: one.scrollWidth > one.clientWidth })),
    );
  expect(
    names.filter(({ high, cut }) => high > 24 || cut),
    'names that are broken or cut',
  ).toEqual([]);
  expect((await executor.boundingBox())?.height).toBeLessThan(110);
  const table = page.locator('.instances .ant-table-content');
  expect(await table.evaluate((one) => one.scrollWidth - one.clientWidth), 'too wide by').toBeLessThanOrEqual(0);
  await page.setViewportSize({ width: 768, height: 800 });
  expect((await page.locator('.instances thead').boundingBox())?.height, 'the head is low too').toBeLessThan(110);
  if (shots) await page.screenshot({ path: join(shots, 'executors-of-three.png') });
  await context.close();
});

test('the leader is killed, and both pages tell it without a reload', async () => {
  process.kill(at(leader).pid, 'SIGKILL');
  await expect(cluster.locator('.leader-name')).not.toContainText(leader);
  await expect(cluster.locator('.leader-name')).toContainText(/coordinator-\d/);
  await expect(cluster.locator('.past-terms li')).not.toHaveCount(1);
  await expect(row(cluster, 'Coordinators', leader)).toContainText('Dead');
  const taken = row(cluster, 'Handoffs', `${leader} →`).first();
  await expect(taken).toContainText('Crash');
  // Who is silent for 5 s is dead: so long, less the time between two beats, nobody looked after it at least.
  const waited = await taken.getByRole('cell').nth(5).textContent();
  expect(waited, 'since its owner was last heard').toMatch(/^\d+(\.\d+)? s$/);
  expect(Number.parseFloat(waited as string)).toBeGreaterThan(3.5);
  await expect(row(lifecycle, 'Orchestrators (coordinators)', leader)).toContainText('Failed');
  await expect(lifecycle.locator('.event-feed')).toContainText(`${leader} is now`);
  await expect(row(lifecycle, 'Orchestrators (coordinators)', leader)).toHaveClass(/flash-/);
  await seesTheNewOwner(await taken.getByRole('link').getAttribute('href'));
  await stillTheSame(cluster);
  await stillTheSame(lifecycle);
  if (shots) {
    await cluster.screenshot({ path: join(shots, 'cluster-leader-killed.png') });
    await lifecycle.screenshot({ path: join(shots, 'lifecycle-leader-killed.png') });
  }
});

test('a coordinator is drained from the page, and what it owned goes to who is left', async () => {
  const there = row(cluster, 'Coordinators', third);
  await there.getByRole('button', { name: 'Drain' }).click();
  const dialog = cluster.getByRole('dialog', { name: `Drain ${third}?` });
  await expect(dialog).toContainText(new RegExp(`${third} hands over \\d+ executions? to`));
  await expect(dialog).toHaveCSS('opacity', '1');
  if (shots) await cluster.screenshot({ path: join(shots, 'cluster-drain.png') });
  await dialog.getByRole('button', { name: 'Drain' }).click();
  await expect(there).toContainText('Stopped');
  const given = row(cluster, 'Handoffs', `${third} →`).first();
  await expect(given).toContainText('Shutdown');
  await expect(given).toContainText(/taken in time|asked again/);
  await expect(lifecycle.locator('.event-feed')).toContainText(`${third} has left as orchestrator`);
  await expect(row(lifecycle, 'Orchestrators (coordinators)', third)).toHaveCount(0);
  await expect(cluster.getByText(/Every execution has its owner/)).toBeVisible();
  await stillTheSame(cluster);
});

test('an executor that falls silent is seen to be removed on a page that is open, and to come back', async () => {
  const page = await cluster.context().newPage();
  await page.goto(new URL('/executors', cluster.url()).href);
  const executor = page.locator('.instances tr[data-row-key]').first();
  await expect(executor).toContainText('Healthy');
  await frozen(executorPid, async () => {
    await expect(executor).toContainText(/missed/i);
    await expect(executor).toContainText('Removed');
  });
  await expect(executor).toContainText('Healthy');
  await page.close();
});

test('a coordinator that says nothing is a line that is cut, and both pages go on when it is back', async () => {
  const [pid] = Object.values(nodes)
    .filter(({ url }) => cluster.url().startsWith(url))
    .map((one) => one.pid);
  const banner = cluster.locator('.live-banner');
  await expect(banner).toHaveCount(0);
  await frozen(pid as number, async () => {
    await expect(banner).toContainText('Disconnected', { timeout: 35_000 });
    await expect(cluster.locator('.live-indicator')).toContainText('Disconnected');
    // An attempt that nobody answers is no connection: it stays said.
    await expect(banner).toContainText('retrying now');
    await expect(banner).toContainText(/retrying in \d+ s/);
  });
  for (const page of [cluster, lifecycle]) {
    await expect(page.getByText('Live', { exact: true })).toBeVisible({ timeout: 40_000 });
    await expect(page.locator('.live-banner')).toHaveCount(0);
    await stillTheSame(page);
  }
});
