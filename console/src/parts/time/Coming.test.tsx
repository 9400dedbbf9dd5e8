import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { Coming } from '@/parts/time/Coming';

const around = (ms: number) => new Date(Date.now() + ms).toISOString();

afterEach(cleanup);

describe('what is to come', () => {
  it.each([0, 400, 3_000, 90_000])('is due when its time was %i ms ago', (ago) => {
    render(<Coming at={around(-ago)} />);
    expect(screen.getByText('due')).toBeTruthy();
  });

  it('comes in so long before', () => {
    render(<Coming at={around(150_000)} />);
    expect(screen.getByText(/^in /)).toBeTruthy();
  });
});
