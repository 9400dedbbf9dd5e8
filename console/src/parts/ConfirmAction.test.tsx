import { cleanup, render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { App } from 'antd';
import { afterEach, expect, it, vi } from 'vitest';
import { ConfirmAction } from '@/parts/ConfirmAction';

afterEach(cleanup);

function action(act: () => Promise<string>, more: { danger?: boolean; ready?: boolean } = {}) {
  return (
    <App>
      <ConfirmAction label="Retry" title="Run it again?" confirm="Do it" act={act} {...more}>
        <p>It runs once more.</p>
      </ConfirmAction>
    </App>
  );
}

function focused(): string | null | undefined {
  return document.activeElement?.textContent?.trim();
}

it('confirms what does no harm by Enter, and once more', async () => {
  const act = vi.fn(async () => 'done');
  render(action(act));
  screen.getByRole('button', { name: 'Retry' }).focus();
  await userEvent.keyboard('{Enter}');
  await waitFor(() => expect(focused()).toBe('Do it'));
  await userEvent.keyboard('{Enter}');
  expect(act).toHaveBeenCalledTimes(1);
});

it('keeps Enter from what cannot be undone', async () => {
  const act = vi.fn(async () => 'done');
  render(action(act, { danger: true }));
  screen.getByRole('button', { name: 'Retry' }).focus();
  await userEvent.keyboard('{Enter}');
  await waitFor(() => expect(focused()).toMatch(/cancel/i));
  await userEvent.keyboard('{Enter}');
  expect(act).not.toHaveBeenCalled();
});

it('gives the focus to what confirms as soon as it can be confirmed', async () => {
  const act = vi.fn(async () => 'done');
  const { rerender } = render(action(act, { ready: false }));
  await userEvent.click(screen.getByRole('button', { name: 'Retry' }));
  await waitFor(() => expect(focused()).toMatch(/cancel/i));
  rerender(action(act, { ready: true }));
  await waitFor(() => expect(focused()).toBe('Do it'));
});
