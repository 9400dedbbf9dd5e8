// Where stories are told: a coordinator that tests/console started, and the system's own browser.

import { type BrowserContext, test as base, expect, type Page, type PlaywrightTestConfig } from '@playwright/test';

function given(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: stories are told by tests/console.`);
  return value;
}

export const url = given('ORTH_STORY_URL');
export const user = given('ORTH_STORY_USER');
export const password = given('ORTH_STORY_PASSWORD');
export const jobs = JSON.parse(given('ORTH_STORY_JOBS')) as Record<string, number>;

/** Without motion: a click while a dialog still grows may miss its button. */
const still = { reducedMotion: 'reduce' } as const;

export const browserOptions: PlaywrightTestConfig['use'] & typeof still = {
  ...still,
  contextOptions: still,
  baseURL: url,
  viewport: { width: 1440, height: 900 },
  locale: 'en-US',
  timezoneId: 'Europe/Paris',
  launchOptions: { executablePath: given('ORTH_STORY_BROWSER'), args: ['--no-sandbox', '--disable-dev-shm-usage'] },
};

export async function signIn(page: Page, at = '', as = { username: user, password }): Promise<void> {
  await page.goto(`${at}/login`);
  await page.getByLabel('User name').fill(as.username);
  await page.getByLabel('Password').fill(as.password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page).not.toHaveURL(/\/login$/);
  if (as.username === user && (await forgetChoices(page.context(), at || url))) {
    await page.evaluate(() => localStorage.clear());
    await page.reload();
  }
  await expect(page.getByRole('heading', { level: 1, name: 'Dashboard' })).toBeVisible();
}

/** What the last story chose, the server has kept. Whether there was anything. */
async function forgetChoices({ request }: BrowserContext, at: string): Promise<boolean> {
  const { csrf_token, preferences } = await (await request.get(`${at}/api/v1/auth/session`)).json();
  const chosen = Object.fromEntries(Object.keys(preferences).map((name) => [name, null]));
  if (Object.keys(chosen).length === 0) return false;
  const headers = { 'X-CSRF-Token': csrf_token, Origin: new URL(at).origin };
  const answer = await request.patch(`${at}/api/v1/auth/preferences`, { headers, data: { chosen } });
  expect(answer.status()).toBe(200);
  return true;
}

interface Actor {
  /** Statuses of refusals that a story is about: browsers complain of every one. */
  refusals: number[];
  /** A page whose session begins where the last story's ended: signing in is slow, on purpose. */
  signedIn: Page;
}

interface Session {
  context: BrowserContext;
  cookies: Awaited<ReturnType<BrowserContext['cookies']>>;
}

/** A page as in a new browser, but for the files of the console, which to read and compile takes a second each time. */
async function newPage({ context, cookies }: Session): Promise<Page> {
  await context.clearCookies();
  await context.addCookies(cookies);
  await forgetChoices(context, url);
  const page = await context.newPage();
  const wire = await context.newCDPSession(page);
  await wire.send('Storage.clearDataForOrigin', { origin: new URL(url).origin, storageTypes: 'local_storage' });
  await wire.detach();
  return page;
}

export const test = base.extend<Actor, { session: Session }>({
  refusals: [[], { option: true }],
  session: [
    async ({ browser }, use) => {
      const context = await browser.newContext({ ...browserOptions });
      await signIn(await context.newPage());
      await use({ context, cookies: await context.cookies() });
      await context.close();
    },
    { scope: 'worker' },
  ],
  signedIn: async ({ session, refusals }, use) => {
    await Promise.all(session.context.pages().map((left) => left.close()));
    const page = await newPage(session);
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(String(error)));
    page.on('console', (message) => {
      const expected = refusals.some((status) => message.text().includes(`responded with a status of ${status}`));
      if (message.type() === 'error' && !expected) complaints.push(message.text());
    });
    await use(page);
    await page.close();
    expect(complaints, 'what the browser complained about').toEqual([]);
  },
});

export { expect };
