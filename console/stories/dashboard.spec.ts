import { expect, jobs, test } from './stage';

test('the dashboard shows what there is, what fails and what comes next', async ({ signedIn: page }) => {
  await page.goto('/');
  await expect(page.getByRole('region', { name: 'Executors healthy' })).toContainText('3of 3 registered');
  const started = page.getByRole('region', { name: 'Jobs started' });
  await expect(started).toContainText('2');
  await expect(started.getByRole('link', { name: /^\d+ paused$/ })).toHaveAttribute('href', '/jobs?only=paused');
  const failing = page.locator('.panel', { hasText: 'Failing now' });
  await expect(failing.getByText('Collect prices of all suppliers')).toBeVisible();
  await failing.getByRole('button', { name: 'Failed 200/500' }).first().click();
  await expect(page.getByRole('dialog')).toContainText('the supplier sent no prices for 2026-01-30');
  await page.keyboard.press('Escape');
  await expect(failing.getByText('3 in a row')).toBeVisible();
  const next = page.locator('.panel', { hasText: 'Next fires' });
  await expect(next.getByText('Nightly report')).toBeVisible();
  await expect(next.getByRole('listitem').filter({ hasText: 'Greet the customers' })).toHaveCount(1);
  await expect(next.getByRole('listitem').filter({ hasText: 'Greet the customers' })).toContainText(
    /28[789] fires in 24 h/,
  );
  await failing.getByText('Collect prices of all suppliers').click();
  await expect(page).toHaveURL(new RegExp(`/jobs/${jobs['Collect prices of all suppliers']}$`));
});

test('the bars span what is chosen, and the address keeps it', async ({ signedIn: page }) => {
  await page.goto('/');
  const chart = page.locator('.panel', { hasText: 'How executions ended' });
  await chart.getByText('30 days').click();
  await expect(page).toHaveURL(/\?span=30d$/);
  await expect(chart.getByRole('slider')).toHaveAttribute('aria-valuemax', '30');
  await page.reload();
  await expect(chart.getByRole('radio', { name: '30 days' })).toBeChecked();
  await chart.getByRole('link', { name: 'All executions' }).click();
  await expect(page).toHaveURL(/\/executions\?since=30d$/);
});

test('an execution that ends is seen without a reload', async ({ signedIn: page, request, session }) => {
  await page.goto('/');
  await expect(page.getByText('Live', { exact: true })).toBeVisible();
  const card = page.getByRole('region', { name: 'Executions ended' }).locator('.card-value');
  const before = Number(await card.textContent());
  await trigger(request, session, jobs['Greet the customers'] ?? 0);
  await expect(async () => expect(Number(await card.textContent())).toBeGreaterThan(before)).toPass({
    timeout: 15_000,
  });
});

async function trigger(
  request: import('@playwright/test').APIRequestContext,
  session: { cookies: { name: string; value: string }[] },
  job: number,
): Promise<void> {
  const Cookie = session.cookies.map((one) => `${one.name}=${one.value}`).join('; ');
  const mine = await (await request.get('/api/v1/auth/session', { headers: { Cookie } })).json();
  const headers = { Cookie, 'X-CSRF-Token': mine.csrf_token as string };
  const answer = await request.post(`/api/v1/jobs/${job}/trigger`, { headers, data: {} });
  expect(answer.status()).toBe(202);
}
