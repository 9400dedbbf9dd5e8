import { cleanup, render, screen } from '@testing-library/react';
import { afterEach, expect, it } from 'vitest';
import { NextFire } from '@/parts/job/NextFire';

afterEach(cleanup);

it.each([0, 1, 400, 3_000, 30_000])('says of a fire that was due %i ms ago that it is due', (ago) => {
  render(<NextFire at={new Date(Date.now() - ago).toISOString()} />);
  expect(screen.getByText('common:due')).toBeTruthy();
});
