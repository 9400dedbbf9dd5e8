import { cleanup, render, screen, waitFor } from '@testing-library/react';
import { userEvent } from '@testing-library/user-event';
import { App, ConfigProvider, Form, Input } from 'antd';
import { afterEach, expect, it } from 'vitest';
import { FormDialog } from '@/parts/FormDialog';

afterEach(cleanup);

it('begins in its first field', async () => {
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
  await waitFor(() => expect(document.activeElement).toBe(screen.getByLabelText('Name')));
});
