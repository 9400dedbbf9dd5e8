import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { InputNumber } from '@/parts/InputNumber';

afterEach(cleanup);

it('names its buttons in the language of the page', () => {
  render(<InputNumber aria-label="Pages" />);
  const names = screen.getAllByRole('button').map((button) => button.getAttribute('aria-label'));
  expect(names).toEqual(['increase', 'decrease']);
});
