import { cleanup, render, screen } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { afterEach, expect, it } from 'vitest';
import { InputNumber } from '@/parts/InputNumber';

afterEach(cleanup);

it('names its buttons in the language of the page', () => {
  render(<InputNumber aria-label="Pages" />);
  const names = screen.getAllByRole('button').map((button) => button.getAttribute('aria-label'));
  expect(names).toEqual(['increase', 'decrease']);
});

it('says so when what was typed is put within its bounds', async () => {
  render(<InputNumber aria-label="Pages" min={1} max={20} />);
  const field = screen.getByRole('spinbutton');
  await userEvent.type(field, '300');
  expect(screen.queryByRole('status')).toBeNull();
  await userEvent.tab();
  expect(screen.getByRole('status').textContent).toBe('bounded.both');
  expect((field as HTMLInputElement).value).toBe('20');
  await userEvent.clear(field);
  await userEvent.type(field, '7');
  await userEvent.tab();
  expect(screen.queryByRole('status')).toBeNull();
});
