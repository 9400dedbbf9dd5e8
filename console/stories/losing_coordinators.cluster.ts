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
  await expect(cluster.locator('.past-terms li').first()).toContainText(leader);
  for (const node of Object.keys(nodes)) {
    await expect(row(lifecycle, 'Orchestrators (coordinators)', node)).toContainText('Running');
  }
  if (shots) await cluster.screenshot({ path: join(shots, 'cluster-of-three.png') });
});

test('the leader is killed, and both pages tell it without a reload', async () => {
  process.kill(at(leader).pid, 'SIGKILL');
  await expect(cluster.locator('.leader-name')).not.toContainText(leader);
  await expect(cluster.locator('.leader-name')).toContainText(/node-\d/);
  await expect(cluster.locator('.past-terms li')).not.toHaveCount(1);
  await expect(row(cluster, 'Coordinators', leader)).toContainText('Dead');
  const taken = row(cluster, 'Handoffs', `${leader} →`).first();
  await expect(taken).toContainText('Crash');
  await expect(row(lifecycle, 'Orchestrators (coordinators)', leader)).toContainText('Failed');
  await expect(lifecycle.locator('.event-feed')).toContainText(`${leader} is now`);
  await expect(row(lifecycle, 'Orchestrators (coordinators)', leader)).toHaveClass(/flash-/);
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
