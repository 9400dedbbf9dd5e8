import { cleanup, render } from '@testing-library/react';
import { afterEach, expect, it, vi } from 'vitest';
import { LostFiles } from '@/app/LostFiles';
import type { LiveState } from '@/live/connection';
import * as live from '@/live/LiveProvider';

afterEach(cleanup);

/** How often it is tried again while the line goes through these states. */
function tries(...kinds: LiveState['kind'][]): number {
  const again = vi.fn();
  const line = vi.spyOn(live, 'useLine');
  line.mockReturnValue({ kind: kinds[0] } as LiveState);
  const { rerender } = render(<LostFiles again={again} />);
  for (const kind of kinds.slice(1)) {
    line.mockReturnValue({ kind } as LiveState);
    rerender(<LostFiles again={again} />);
  }
  return again.mock.calls.length;
}

it('tries again when the line is back, and never for a line that was not cut', () => {
  expect(tries('waiting', 'connecting', 'live')).toBe(1);
  expect(tries('connecting', 'waiting', 'connecting', 'live', 'live')).toBe(1);
  expect(tries('connecting', 'live')).toBe(0); // or a page whose files are gone would be loaded for ever
  expect(tries('live', 'hidden', 'connecting', 'live')).toBe(0);
});
