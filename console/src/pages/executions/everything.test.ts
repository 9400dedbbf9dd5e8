import { describe, expect, it } from 'vitest';
import type { ManyDone } from '@/api/types';
import { type Ask, doToAll, endOf, percent, type Sum } from '@/pages/executions/everything';

function part(done: number, left: number, next_after: number | null, skipped = 0): ManyDone {
  return { dry_run: false, done, skipped, left, next_after, execution_ids: [] };
}

function site(...parts: ManyDone[]) {
  const asked: (number | null)[] = [];
  const told: Sum[] = [];
  const ask: Ask = async (after) => {
    asked.push(after);
    return parts[asked.length - 1] as ManyDone;
  };
  return { asked, told, run: (isStopped = () => false) => doToAll(ask, (sum) => told.push(sum), isStopped) };
}

describe('everything that matches', () => {
  it('is asked for until nothing is left, though a part had nothing, and says how far it is', async () => {
    const { asked, told, run } = site(part(500, 1_000, 70, 10), part(0, 0, 90), part(390, 0, null));
    expect(await run()).toEqual({ done: 890, skipped: 10, left: 0, stopped: false });
    expect(asked).toEqual([null, 70, 90]);
    expect(told.map(({ done }) => done)).toEqual([500, 500, 890]);
    expect(told.map(percent)[0]).toBe(33);
  });

  it('goes on without a place to go on from, as long as it gets on', async () => {
    const { asked, run } = site(part(500, 20, null), part(15, 5, null), part(0, 5, null));
    expect(await run()).toEqual({ done: 515, skipped: 0, left: 5, stopped: false });
    expect(asked).toEqual([null, null, null]);
  });

  it('stops between two parts, and says what is left', async () => {
    const { asked, run } = site(part(500, 700, 70), part(500, 200, 90));
    expect(await run(() => true)).toEqual({ done: 500, skipped: 0, left: 700, stopped: true });
    expect(asked).toHaveLength(1);
  });

  it('is not stopped once it is through', async () => {
    const { run } = site(part(3, 0, null));
    expect((await run(() => true)).stopped).toBe(false);
  });

  it('ends now, unless it was to end before', () => {
    const now = Date.parse('2026-01-10T00:00:00Z');
    expect(endOf(undefined, now)).toBe('2026-01-10T00:00:00.000Z');
    expect(endOf('2026-02-01T00:00:00Z', now)).toBe('2026-01-10T00:00:00.000Z');
    expect(endOf('2026-01-01T00:00:00Z', now)).toBe('2026-01-01T00:00:00Z');
    expect(endOf('2h', now)).toBe('2h');
  });
});
