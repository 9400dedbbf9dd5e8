import { cleanup, fireEvent, render } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { Dialog } from '@/parts/Dialog';

afterEach(cleanup);

const beside = () => document.querySelector('.ant-modal-wrap') as Element;

function click(detail: number) {
  fireEvent.mouseDown(beside(), { detail });
  fireEvent.click(beside(), { detail });
}

it('is not closed by the second click of the double click that opened it, and by the next one', () => {
  const close = vi.fn();
  render(<Dialog open title="Run it?" onCancel={close} />);
  click(2);
  expect(close).not.toHaveBeenCalled();
  click(1);
  expect(close).toHaveBeenCalledTimes(1);
});
