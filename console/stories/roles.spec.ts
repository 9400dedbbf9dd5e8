// What each role is offered on every page, and what the server answers to who asks for more all the same.

import type { APIRequestContext, Browser, Page } from '@playwright/test';
import { browserOptions, expect, jobs, test } from './stage';

const ROLES = ['viewer', 'operator', 'editor', 'admin'] as const;
type Role = (typeof ROLES)[number];

/** In one group, but for the admin, who is one everywhere. */
const may = (role: Role, least: Role) => ROLES.indexOf(role) >= ROLES.indexOf(least);
const greet = jobs['Greet the customers'];
const script = jobs['Clean the archive'];
const failing = jobs['Collect prices of all suppliers'];

interface Offer {
  what: 'button' | 'switch' | 'checkbox' | 'link' | 'tab' | 'heading';
  name: RegExp;
  least: Role;
}

interface Visit {
  path: (ended: number) => string;
  /** Seen once the page has what it shows, by whoever may open it. */
  ready: RegExp;
  offers: Offer[];
}

const button = (name: RegExp, least: Role): Offer => ({ what: 'button', name, least });

const VISITS: Visit[] = [
  {
    path: () => '/',
    ready: /Executors/,
    offers: [
      { what: 'link', name: /^Jobs$/, least: 'viewer' },
      { what: 'link', name: /^Lifecycle$/, least: 'admin' },
      { what: 'link', name: /^Cluster$/, least: 'admin' },
      { what: 'link', name: /^Admin$/, least: 'admin' },
    ],
  },
  {
    path: () => '/jobs',
    ready: /Nightly report/,
    offers: [
      { what: 'checkbox', name: /^Select Nightly report/, least: 'operator' },
      { what: 'switch', name: /^Nightly report fires/, least: 'operator' },
      button(/^Run Nightly report once/, 'operator'),
      button(/^Edit Nightly report/, 'editor'),
      button(/New job/, 'editor'),
    ],
  },
  {
    path: () => `/jobs/${greet}`,
    ready: /History of the definition/,
    offers: [
      button(/Run once/, 'operator'),
      button(/^(Stop|Start)$/, 'operator'),
      button(/^Edit$/, 'editor'),
      button(/^Copy$/, 'editor'),
      button(/^Delete$/, 'editor'),
    ],
  },
  { path: () => '/jobs/new', ready: /New job|You may not edit this/, offers: [button(/^Create$/, 'editor')] },
  {
    path: () => `/jobs/${greet}/edit`,
    ready: /Edit Greet|You may not edit this/,
    offers: [button(/^Save$/, 'editor')],
  },
  {
    path: () => `/executions?status=failed&job_id=${failing}`,
    ready: /Collect prices of all suppliers/,
    offers: [
      { what: 'checkbox', name: /^Select execution/, least: 'operator' },
      button(/^Retry$/, 'operator'),
      button(/^Retry all that match$/, 'operator'),
    ],
  },
  {
    path: (ended) => `/executions/${ended}`,
    ready: /the supplier sent no prices/,
    offers: [button(/^Retry$/, 'operator'), button(/^Run again/, 'operator')],
  },
  {
    path: (ended) => `/executions/${ended}/log`,
    ready: /the supplier sent no prices/,
    offers: [button(/^Retry$/, 'operator')],
  },
  { path: () => '/timeline', ready: /Greet the customers/, offers: [] },
  {
    path: () => '/executors',
    ready: /Healthy/,
    offers: [
      button(/^Ping$/, 'operator'),
      button(/^(Drain|Resume)$/, 'operator'),
      button(/^Remove$/, 'admin'),
      { what: 'switch', name: /^Scripts may be written/, least: 'admin' },
    ],
  },
  {
    path: () => '/lifecycle',
    ready: /node-1|You may not see this page/,
    offers: [{ what: 'heading', name: /^Agents/, least: 'admin' }],
  },
  {
    path: () => '/cluster',
    ready: /node-1|You may not see this page/,
    offers: [
      { what: 'heading', name: /^Coordinators/, least: 'admin' },
      button(/^Drain$/, 'admin'),
      button(/^Step down$/, 'admin'),
    ],
  },
  {
    path: () => '/alarms',
    ready: /Collect prices of all suppliers/,
    offers: [button(/^Silence$/, 'operator')],
  },
  { path: () => '/alarms/rules', ready: /Nightly report/, offers: [] },
  {
    path: () => '/alarms/channels',
    ready: /On call/,
    offers: [
      button(/New channel/, 'admin'),
      button(/^Test$/, 'admin'),
      button(/^Edit$/, 'admin'),
      button(/^Remove$/, 'admin'),
    ],
  },
  { path: () => '/alarms/silences', ready: /Silences/, offers: [button(/^Silence$/, 'operator')] },
  { path: () => '/scripts', ready: /Clean the archive/, offers: [] },
  { path: () => `/scripts/${script}`, ready: /Clean the archive/, offers: [button(/^Save$/, 'editor')] },
  {
    path: () => '/admin/users',
    ready: /Add user|administer nothing/,
    offers: [button(/Add user/, 'admin'), { what: 'tab', name: /^Audit$/, least: 'admin' }],
  },
  { path: () => '/admin/secrets', ready: /New secret|administer nothing/, offers: [button(/New secret/, 'admin')] },
  { path: () => '/settings', ready: /Settings/, offers: [{ what: 'heading', name: /About|version/i, least: 'admin' }] },
  { path: () => '/account', ready: /Password/, offers: [button(/Change password/i, 'viewer')] },
];

interface Ask {
  least: Role;
  call: string;
  data?: unknown;
}

/** What is refused to every role below `least`; nobody who may is made to do it here. */
function asks(ended: number, address: string): Ask[] {
  const named = { app_name: 'stories', address };
  const job = { job_group: 1, job_desc: 'by hand', executor_handler: 'greet' };
  return [
    { least: 'operator', call: `POST /jobs/${greet}/trigger`, data: {} },
    { least: 'operator', call: `POST /jobs/${greet}/stop` },
    { least: 'operator', call: `POST /executions/${ended}/retry` },
    { least: 'operator', call: 'POST /executors/ping', data: named },
    { least: 'operator', call: 'POST /executors/drain', data: named },
    { least: 'operator', call: `POST /alarms/silences`, data: { job_id: greet, lasts: '1h', reason: 'a story' } },
    { least: 'editor', call: `PATCH /jobs/${greet}`, data: { executor_param: 'x' } },
    { least: 'editor', call: `DELETE /jobs/${greet}` },
    { least: 'editor', call: 'POST /jobs', data: job },
    {
      least: 'editor',
      call: `PUT /scripts/${script}`,
      data: { glue_type: 'GLUE_SHELL', glue_source: 'x', glue_remark: 'a try' },
    },
    { least: 'admin', call: 'POST /executors/remove', data: named },
    { least: 'admin', call: 'POST /groups', data: { app_name: 'another' } },
    {
      least: 'admin',
      call: 'POST /alarms/channels',
      data: { name: 'x', kind: 'webhook', definition: { url: 'https://x.example' } },
    },
    { least: 'admin', call: 'POST /alarms/preview', data: {} },
    { least: 'admin', call: 'POST /cluster/step-down' },
    { least: 'admin', call: 'GET /cluster' },
    { least: 'admin', call: 'GET /users' },
    { least: 'admin', call: 'POST /users', data: { username: 'mallory' } },
    { least: 'admin', call: 'GET /tokens' },
    { least: 'admin', call: 'GET /audit' },
    { least: 'admin', call: 'GET /settings' },
  ];
}

test.describe('roles', () => {
  test.describe.configure({ timeout: 60_000 });
  for (const role of ROLES) {
    test(`${role}: every page offers what one may do, and the server refuses the rest`, async ({
      signedIn,
      browser,
    }) => {
      const admin = signedIn.request;
      const { items } = await told(admin, `GET /executions?status=failed&limit=1&job_id=${failing}`);
      const executors = await told(admin, 'GET /executors?app_name=stories');
      const page = await signedInAs(browser, admin, role);
      await page.goto('/');
      for (const visit of VISITS) await look(page, role, visit, items[0].id);
      const headers = await csrf(page.request);
      for (const { least, call, data } of asks(items[0].id, executors.items[0].address)) {
        if (may(role, least)) continue;
        const [method, path] = call.split(' ');
        const answer = await page.request.fetch(`/api/v1${path}`, {
          method,
          headers,
          ...(data !== undefined && { data }),
        });
        expect.soft(answer.status(), `${role}: ${call}`).toBe(403);
      }
      await page.context().close();
    });
  }
});

async function look(page: Page, role: Role, { path, ready, offers }: Visit, ended: number): Promise<void> {
  const to = path(ended);
  await page.evaluate((place) => {
    history.pushState(null, '', place);
    dispatchEvent(new PopStateEvent('popstate', { state: null }));
  }, to);
  await expect(page.getByRole('main').getByText(ready).first(), `${to} as ${role}`).toBeVisible();
  const mine = offers.filter(({ least }) => may(role, least));
  const theirs = offers.filter(({ least }) => !may(role, least));
  for (const { what, name } of mine) {
    await expect.soft(page.getByRole(what, { name }).first(), `${role} is offered ${name} on ${to}`).toBeVisible();
  }
  for (const { what, name } of theirs) {
    await expect.soft(page.getByRole(what, { name }), `${role} is not offered ${name} on ${to}`).toHaveCount(0);
  }
}

async function csrf(request: APIRequestContext): Promise<Record<string, string>> {
  return { 'X-CSRF-Token': (await (await request.get('/api/v1/auth/session')).json()).csrf_token };
}

async function told(request: APIRequestContext, call: string, data?: unknown) {
  const [method, path] = call.split(' ');
  const headers = await csrf(request);
  const answer = await request.fetch(`/api/v1${path}`, { method, headers, ...(data !== undefined && { data }) });
  expect(answer.ok(), `${call}: ${answer.status()}`).toBe(true);
  return answer.json();
}

/** Somebody with this role in the group of the stories; who administers does so everywhere. */
async function signedInAs(browser: Browser, admin: APIRequestContext, role: Role): Promise<Page> {
  const groups = await told(admin, 'GET /groups?limit=200');
  const group = groups.items.find((one: { app_name: string }) => one.app_name === 'stories');
  const username = `role-${role}`;
  const password = `for-the-roles-${role}`;
  const rights = role === 'admin' ? { role } : { grants: [{ group_id: group.id, role }] };
  await told(admin, 'POST /users', { username, password, ...rights });
  const context = await browser.newContext({ ...browserOptions });
  const page = await context.newPage();
  const began = await page.request.post('/api/v1/auth/session', { data: { username, password } });
  expect(began.ok(), `${username} signs in`).toBe(true);
  return page;
}
