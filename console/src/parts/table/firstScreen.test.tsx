import { act, cleanup, render } from '@testing-library/react';
import { useEffect } from 'react';
import { afterEach, describe, expect, it } from 'vitest';
import { useFirstScreen } from '@/parts/table/firstScreen';

function Rows({ count, drawn }: { count: number; drawn: number[] }) {
  const made = useFirstScreen(Array.from({ length: count }, (_, index) => index));
  useEffect(() => {
    drawn.push(made.length);
  });
  return made.map((row) => <i key={row} />);
}

afterEach(cleanup);

describe('the rows of a list', () => {
  it('are made a screen at first, and then all of them', async () => {
    const drawn: number[] = [];
    const { container, rerender } = render(<Rows count={0} drawn={drawn} />);
    await act(async () => rerender(<Rows count={50} drawn={drawn} />));
    expect(drawn.filter((count) => count > 0)).toEqual([12, 50]);
    expect(container.querySelectorAll('i')).toHaveLength(50);
  });

  it('are made a screen at first where all are there from the beginning', async () => {
    const drawn: number[] = [];
    await act(async () => render(<Rows count={50} drawn={drawn} />));
    expect(drawn).toEqual([12, 50]);
  });

  it('stay while more are added, and go when there are fewer', async () => {
    const drawn: number[] = [];
    const { rerender } = render(<Rows count={50} drawn={drawn} />);
    drawn.length = 0;
    await act(async () => rerender(<Rows count={100} drawn={drawn} />));
    expect(drawn).toEqual([50, 100]);
    drawn.length = 0;
    await act(async () => rerender(<Rows count={3} drawn={drawn} />));
    expect(new Set(drawn)).toEqual(new Set([3]));
  });
});
