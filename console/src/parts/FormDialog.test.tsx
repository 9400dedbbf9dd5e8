import { cleanup, render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { App, ConfigProvider, Form, Input } from 'antd';
import { afterEach, expect, it } from 'vitest';
import { FormDialog } from '@/parts/FormDialog';

afterEach(cleanup);

async function opened(): Promise<HTMLElement> {
  render(
    <ConfigProvider theme={{ token: { motion: false } }}>
      <App>
        <FormDialog<{ name: string }> label="New" title="A new one" confirm="Make it" act={async () => null}>
          <p>What is it to be called?</p>
          <Form.Item name="name" label="Name">
            <Input />
          </Form.Item>
        </FormDialog>
      </App>
    </ConfigProvider>,
  );
  await userEvent.click(screen.getByRole('button', { name: 'New' }));
  return screen.findByLabelText('Name');
}

it('begins in its first field', async () => {
  const field = await opened();
  await waitFor(() => expect(document.activeElement).toBe(field));
});

const closed = () => waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
const beside = () => userEvent.click(document.querySelector('.ant-modal-wrap') as Element);

it('is closed by Escape, and by a click beside it, while nothing was typed', async () => {
  await opened();
  await userEvent.keyboard('{Escape}');
  await closed();
  await userEvent.click(screen.getByRole('button', { name: 'New' }));
  await screen.findByLabelText('Name');
  await beside();
  await closed();
});

it('keeps what was typed until somebody cancels', async () => {
  await userEvent.type(await opened(), 'nightly');
  await userEvent.keyboard('{Escape}');
  await beside();
  expect(screen.getByLabelText<HTMLInputElement>('Name').value).toBe('nightly');
  await userEvent.click(screen.getByRole('button', { name: 'cancel' }));
  await closed();
});
