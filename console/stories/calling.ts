// What stories do beside the page, as the person who is signed in there.

import type { Page } from '@playwright/test';
import { expect, jobs } from './stage';

/** Call the API as the person who is signed in on the page. */
export async function call(page: Page, method: string, path: string, data?: object) {
  const session = await (await page.request.get('/api/v1/auth/session')).json();
  const headers = { 'X-CSRF-Token': session.csrf_token as string };
  const answer = await page.request.fetch(`/api/v1${path}`, { method, headers, ...(data && { data }) });
  expect(answer.ok(), `${method} ${path}: ${answer.status()}`).toBe(true);
  return answer.status() === 204 ? null : await answer.json();
}

/** Make a job in the group of the stories; its id. */
export async function made(page: Page, name: string, fields: object = {}, anyHandler = false): Promise<number> {
  const { job_group } = await call(page, 'GET', `/jobs/${jobs['Greet the customers']}`);
  const body = { job_group, job_desc: name, executor_handler: 'greet', ...fields };
  return (await call(page, 'POST', `/jobs?allow_unknown_handler=${anyHandler}`, body)).id;
}

/** The group of two executors, for broadcasts; its id. */
export async function twins(page: Page): Promise<number> {
  const { items } = await call(page, 'GET', '/groups?limit=200');
  const known = (items as { id: number; app_name: string }[]).find((one) => one.app_name === 'twins');
  return known?.id ?? (await call(page, 'POST', '/groups', { app_name: 'twins' })).id;
}

/** Run a job and wait until it has ended; the id of its execution. */
export async function ended(page: Page, job: number, parameter = ''): Promise<number> {
  const { execution_ids } = await call(page, 'POST', `/jobs/${job}/trigger`, { executor_param: parameter });
  const [id] = execution_ids as [number];
  await expect.poll(async () => (await call(page, 'GET', `/executions/${id}`)).handle_time).not.toBeNull();
  return id;
}
