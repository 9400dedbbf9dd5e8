// What opens above a page is as accessible as the page: dialogs, popovers, the palette and the sheet of keys.

import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { RULES, seriousFaults, showsTheme } from './accessible';
import { expect, jobs, test } from './stage';

type Opened = { what: string; path: string; open: (page: Page) => Promise<void> };

const press = (name: string | RegExp) => async (page: Page) =>
  page.getByRole('main').getByRole('button', { name, exact: true }).first().click();
const job = `/jobs/${jobs['Greet the customers']}`;

const ABOVE: Opened[] = [
  { what: 'run once', path: job, open: press(/Run once/) },
  { what: 'a question before something is deleted', path: job, open: press('Delete') },
  { what: 'saved views', path: '/executions', open: press('Views') },
  { what: 'an import', path: '/jobs', open: press(/Import/) },
  { what: 'a new group', path: '/executors', open: press(/New group/) },
  { what: 'a new user', path: '/admin/users', open: press(/Add/) },
  { what: 'a new token', path: '/admin/tokens', open: press(/Add|New token|Create/) },
  { what: 'a new channel', path: '/alarms/channels', open: press(/Add|New channel/) },
  { what: 'a new silence', path: '/alarms/silences', open: press(/Add|New silence|Silence/) },
  { what: 'the drain of a coordinator', path: '/cluster', open: press(/Drain/) },
  { what: 'the palette', path: '/jobs', open: (page) => page.keyboard.press('Control+k') },
  { what: 'the sheet of keys', path: '/jobs', open: (page) => page.keyboard.press('?') },
];

for (const theme of ['light', 'dark'] as const) {
  test(`nothing that opens above a page has a serious fault, in ${theme}`, async ({ signedIn: page }) => {
    test.setTimeout(ABOVE.length * 60_000);
    for (const { what, path, open } of ABOVE) {
      await page.goto(path);
      await expect(page.getByRole('heading', { level: 1 })).toBeVisible();
      await expect(page.getByText('Live', { exact: true })).toBeVisible();
      await showsTheme(page, theme);
      await open(page);
      await expect(page.getByRole('dialog'), what).toBeVisible();
      expect.soft(await seriousFaults(new AxeBuilder({ page }).withTags(RULES)), what).toEqual([]);
    }
  });
}
