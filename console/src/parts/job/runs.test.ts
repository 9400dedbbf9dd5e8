import { describe, expect, it } from 'vitest';
import type { JobRun } from '@/api/types';
import { counted, endedAt, heights, took } from '@/parts/job/runs';

function run(ms: number | null, status: JobRun['status'] = 'success'): JobRun {
  const start = Date.parse('2026-01-30T10:00:00Z');
  const iso = (at: number) => new Date(at).toISOString();
  return {
    id: 1,
    status,
    trigger_code: 200,
    handle_code: 200,
    trigger_time: iso(start),
    start_time: iso(start),
    handle_time: ms === null ? null : iso(start + ms),
    duration_ms: ms === null ? null : Math.max(0, ms),
  };
}

describe('bars of runs', () => {
  it('are as high as the root of what they took', () => {
    expect(heights([run(400), run(100), run(0)], 0)).toEqual([1, 0.5, 0]);
    expect(heights([run(0), run(0)], 0.2)).toEqual([0.2, 0.2]);
    expect(heights([], 0.2)).toEqual([]);
  });

  it('know no time of what has not ended, or whose clock ran backwards', () => {
    expect(took(run(null))).toBeNull();
    expect(took(run(-5))).toBe(0);
  });

  it('take what was measured, however late the result was', () => {
    const late = { ...run(6_000), duration_ms: 24 };
    expect(took(late)).toBe(24);
    expect(endedAt(late)).toBe(Date.parse('2026-01-30T10:00:00.024Z'));
    expect(took({ ...run(6_000), duration_ms: undefined as never }), 'of an older server').toBe(6_000);
    expect(endedAt({ ...run(6_000), start_time: null, duration_ms: null })).toBe(Date.parse('2026-01-30T10:00:06Z'));
    expect(endedAt(run(null))).toBeNull();
  });

  it('are counted by status', () => {
    expect(counted([run(1), run(1), run(1, 'failed')])).toEqual({ success: 2, failed: 1 });
  });
});
