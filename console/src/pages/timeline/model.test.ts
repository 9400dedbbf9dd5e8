import { describe, expect, it } from 'vitest';
import type { Execution, UpcomingJob } from '@/api/types';
import {
  asDrawn,
  barOf,
  counts,
  HOUR,
  inLanes,
  layRows,
  MINUTE,
  type Move,
  moved,
  offsetOf,
  recentSpan,
  type Span,
  ticks,
  together,
  within,
  zoomIn,
} from '@/pages/timeline/model';

const SECOND = 1_000;
const NOW = Date.parse('2026-01-30T10:00:00Z');
const at = (minutes: number) => new Date(NOW + minutes * MINUTE).toISOString();
const NAMING = {
  removedJob: 'Removed job',
  nobody: 'nobody',
  toCome: 'To come',
  untagged: 'Untagged',
  groups: new Map([[1, 'Stories']]),
};

function execution(id: number, fields: Partial<Execution>): Execution {
  return {
    id,
    job_id: 1,
    job_desc: 'one',
    job_group: 1,
    job_tags: [],
    status: 'success',
    schedule_time: null,
    trigger_time: at(-30),
    start_time: at(-29),
    handle_time: at(-20),
    executor_address: 'http://10.0.0.7:9999',
    owner_node: 'a',
    queue: null,
    ...fields,
  } as Execution;
}

function upcoming(id: number, due: number[], more = false): UpcomingJob {
  return { job_id: id, job_group: 1, job_desc: `job ${id}`, tags: [], due_times: due.map(at), more };
}

const rows = (given: Partial<Parameters<typeof layRows>[0]>) =>
  layRows({
    executions: [],
    upcoming: [],
    by: 'job',
    span: { from: NOW - HOUR, to: NOW + HOUR },
    now: NOW,
    naming: NAMING,
    ...given,
  });

describe('the span that is shown', () => {
  const DAY = 24 * HOUR;
  const zoomed = (from: number, to: number) =>
    zoomIn({ from: new Date(from).toISOString(), to: new Date(to).toISOString() });

  it('is the last hours and the next one, unless somebody zoomed', () => {
    expect(recentSpan('6', NOW)).toEqual({ from: NOW - 6 * HOUR, to: NOW + HOUR });
    expect(zoomIn({})).toBeNull();
    expect(zoomIn({ from: at(-5), to: at(-3) })).toEqual({ from: NOW - 5 * MINUTE, to: NOW - 3 * MINUTE });
  });

  it('is not understood where nothing can be looked at', () => {
    expect(zoomIn({ from: 'nonsense', to: at(-3) })).toBeUndefined();
    expect(zoomIn({ from: at(-3) })).toBeUndefined();
    expect(zoomIn({ to: at(-3) })).toBeUndefined();
    expect(zoomIn({ from: at(-3), to: at(-5) })).toBeUndefined();
    expect(zoomIn({ from: '-000964-05-11T10:00:00.000Z', to: at(0) })).toBeUndefined();
    expect(zoomIn({ from: '+010000-01-01T00:00:00.000Z', to: '+010000-01-02T00:00:00.000Z' })).toBeUndefined();
    expect(zoomed(NOW, NOW + 31 * DAY)).toEqual({ from: NOW, to: NOW + 31 * DAY });
    expect(zoomed(NOW, NOW + 31 * DAY + 1)).toBeUndefined();
    expect(zoomed(NOW, NOW + 1_000)).toEqual({ from: NOW, to: NOW + 1_000 });
    expect(zoomed(NOW, NOW + 999)).toBeUndefined();
    expect(zoomed(-1, HOUR)).toBeUndefined();
  });

  it('narrows and widens around its middle, and moves by half of itself', () => {
    const span = { from: NOW, to: NOW + 80 * MINUTE };
    const by = (from: number, to: number) => ({ from: NOW + from * MINUTE, to: NOW + to * MINUTE });
    expect(moved(span, 'in')).toEqual(by(20, 60));
    expect(moved(span, 'out')).toEqual(by(-40, 120));
    expect(moved(span, 'earlier')).toEqual(by(-40, 40));
    expect(moved(span, 'later')).toEqual(by(40, 120));
  });

  it.each<[Move, Span]>([
    ['out', { from: NOW - 31 * DAY, to: NOW }],
    ['in', { from: NOW + 200, to: NOW + 1_200 }],
    ['earlier', { from: 0, to: HOUR }],
    ['later', { from: Date.parse('9999-12-31T22:59:59Z'), to: Date.parse('9999-12-31T23:59:59Z') }],
  ])('has an end when it goes %s, and the address of each step is understood', (how, end) => {
    let span: Span = how === 'earlier' || how === 'later' ? { ...end } : { from: NOW - HOUR, to: NOW };
    for (let steps = 0; steps < 20; steps += 1) {
      span = moved(span, how) ?? span;
      expect(zoomed(span.from, span.to)).toEqual(span);
    }
    expect(moved(span, how)).toBeNull();
    expect(span.to - span.from).toBe(end.to - end.from);
    expect(moved(end, how)).toBeNull();
  });

  it('stays inside what can be looked at, whatever is dragged over or moved to', () => {
    expect(within({ from: NOW, to: NOW + 2 })).toEqual({ from: NOW - 499, to: NOW + 501 });
    expect(within({ from: -HOUR, to: HOUR })).toEqual({ from: 0, to: 2 * HOUR });
    expect(moved({ from: MINUTE, to: HOUR }, 'earlier')).toEqual({ from: 0, to: 59 * MINUTE });
    expect(within({ from: NOW + 0.25, to: NOW + HOUR + 0.25 })).toEqual({ from: NOW, to: NOW + HOUR });
  });
});

describe('an execution in time', () => {
  it('runs from its start to its end, and waited before', () => {
    const bar = barOf(execution(1, {}), NOW);
    expect([bar.opened, bar.from, bar.to]).toEqual([-30, -29, -20].map((one) => NOW + one * MINUTE));
  });

  it('did not wait before it was due', () => {
    const ahead = { trigger_time: at(-30), schedule_time: at(-29), start_time: at(-29) };
    const bar = barOf(execution(1, ahead), NOW);
    expect([bar.opened, bar.from]).toEqual([NOW - 29 * MINUTE, NOW - 29 * MINUTE]);
    const late = barOf(execution(1, { ...ahead, start_time: at(-25) }), NOW);
    expect([late.opened, late.from]).toEqual([NOW - 29 * MINUTE, NOW - 25 * MINUTE]);
  });

  it('lasts until now while it is open', () => {
    expect(barOf(execution(1, { status: 'pending', handle_time: null }), NOW).to).toBe(NOW);
  });

  it('ends when it ended, and not when its result arrived', () => {
    const bar = barOf(execution(1, { duration_ms: 24 }), NOW);
    expect([bar.from, bar.to]).toEqual([NOW - 29 * MINUTE, NOW - 29 * MINUTE + 24]);
  });

  it('waits as long as it is known not to have begun', () => {
    const open = { status: 'pending', start_time: null, handle_time: null, phase: 'dispatched' } as const;
    const taken = { ...open, dispatch_time: at(-28), queue_position: null };
    const waits = (fields: Partial<Execution>) => barOf(execution(1, fields), NOW).waits;
    expect(waits({ ...open, status: 'init', phase: 'opened', queue_position: null })).toBe(true);
    expect(waits({ ...taken, queue_position: 2 })).toBe(true);
    expect(waits({ ...taken, phase: 'running', start_time: at(-28) })).toBe(false);
    expect(waits({})).toBe(false);
    // An executor of another make never says when something begins: what it has is taken to run since then.
    const bar = barOf(execution(1, taken), NOW);
    expect([bar.waits, bar.opened, bar.from, bar.to]).toEqual([false, NOW - 30 * MINUTE, NOW - 28 * MINUTE, NOW]);
  });

  it('has no length when it never started', () => {
    const bar = barOf(execution(1, { status: 'trigger_failed', start_time: null, handle_time: null }), NOW);
    expect(bar.to - bar.from).toBe(0);
  });
});

describe('rows', () => {
  it('are by job, executor, owner or group', () => {
    const executions = [execution(1, {}), execution(2, { job_id: 2, job_desc: 'two', owner_node: null })];
    const names = (by: 'job' | 'executor' | 'owner' | 'group') => rows({ executions, by }).map((row) => row.name);
    expect(names('job')).toEqual(['one', 'two']);
    expect(names('executor')).toEqual(['10.0.0.7:9999']);
    expect(names('owner')).toEqual(['a', 'nobody']);
    const ended = [execution(1, { owner_node: null, sent_by: 'b' }), execution(2, { owner_node: 'a', sent_by: 'b' })];
    expect(rows({ executions: ended, by: 'owner' }).map((row) => row.name)).toEqual(['a', 'b']);
    expect(names('group')).toEqual(['Stories']);
  });

  it('by tag show what has several in each of them, and what has none at the end', () => {
    const executions = [
      execution(1, { job_tags: ['night', 'billing'] }),
      execution(2, { job_id: 2, job_tags: ['night'], status: 'failed' }),
      execution(3, { job_id: 3 }),
    ];
    const coming = [{ ...upcoming(4, [5]), tags: ['billing'] }, upcoming(5, [5])];
    const laid = rows({ executions, upcoming: coming, by: 'tag' });
    expect(laid.map((row) => [row.name, row.bars.length, row.fires.length])).toEqual([
      ['billing', 1, 1],
      ['night', 2, 0],
      ['Untagged', 1, 1],
    ]);
    expect(counts(laid)).toEqual(
      new Map([
        ['success', 2],
        ['failed', 1],
      ]),
    );
  });

  it('leave out what lies outside of the span', () => {
    const old = execution(1, { trigger_time: at(-90), start_time: at(-90), handle_time: at(-70) });
    expect(rows({ executions: [old] })).toEqual([]);
  });

  it('keep what overlaps apart, up to a few lanes', () => {
    const bars = [1, 2, 3, 4, 5, 6].map((id) => barOf(execution(id, {}), NOW));
    const laid = inLanes(bars, HOUR);
    expect(laid.lanes).toBe(4);
    expect(laid.bars.map((bar) => bar.lane)).toEqual([0, 1, 2, 3, 3, 3]);
    expect(laid.covered).toBe(2);
    const after = barOf(execution(9, { start_time: at(-20), handle_time: at(-10) }), NOW);
    expect(inLanes([...bars.slice(0, 1), after], HOUR).lanes).toBe(1);
  });

  it('lie in one lane where results arrived late, all at once', () => {
    const late = Array.from({ length: 6 }, (_, index) =>
      execution(index + 1, {
        trigger_time: new Date(NOW + index * SECOND).toISOString(),
        start_time: new Date(NOW + index * SECOND).toISOString(),
        handle_time: new Date(NOW + 6 * SECOND).toISOString(),
        duration_ms: 2,
      }),
    );
    const [row] = rows({ executions: late, span: { from: NOW, to: NOW + 30 * SECOND }, now: NOW + 30 * SECOND });
    expect([row?.lanes, row?.covered]).toEqual([1, 0]);
    expect(Math.max(...(row?.bars ?? []).map((bar) => bar.to - bar.from))).toBe(2);
  });

  it('have what waits below what runs', () => {
    const waiting = [1, 2, 3, 4].map((id) =>
      execution(id, { status: 'init', phase: 'opened', start_time: null, handle_time: null, queue_position: null }),
    );
    const running = execution(9, { status: 'pending', phase: 'running', handle_time: null });
    const [row] = rows({ executions: [...waiting, running] });
    expect(row?.bars.map(({ execution: { id }, waits, lane }) => [id, waits, lane])).toEqual([
      [9, false, 0],
      [1, true, 1],
      [2, true, 2],
      [3, true, 3],
      [4, true, 3],
    ]);
  });

  /** `[from, to]` in ms from now. */
  const bar = (id: number, from: number, to: number) => {
    const [start, end] = [from, to].map((ms) => new Date(NOW + ms).toISOString()) as [string, string];
    return barOf(execution(id, { trigger_time: start, start_time: start, handle_time: end }), NOW + HOUR);
  };

  it.each([HOUR, 24 * HOUR, 31 * 24 * HOUR])('are one lane for what ran one after the other, in %i ms', (width) => {
    const pings = [0, 10_000, 20_000, 20_010, 30_000].map((from, id) =>
      execution(id + 1, {
        trigger_time: new Date(NOW + from).toISOString(),
        start_time: new Date(NOW + from).toISOString(),
        handle_time: new Date(NOW + from + 10).toISOString(),
      }),
    );
    const [row] = rows({ executions: pings, span: { from: NOW - width, to: NOW + HOUR } });
    expect([row?.lanes, row?.covered, row?.bars.length]).toEqual([1, 0, 5]);
  });

  it('keep apart what ran at the same time, however short', () => {
    expect(inLanes([bar(1, 0, 10), bar(2, 5, 15), bar(3, 5, 12)], SECOND).bars.map(({ lane }) => lane)).toEqual([
      0, 1, 2,
    ]);
    expect(inLanes([bar(1, 0, 10), bar(2, 0, 10)], SECOND).lanes).toBe(2);
  });

  it('take an end that was recorded a moment late for no overlap', () => {
    expect(inLanes([bar(1, 0, 5_040), bar(2, 5_000, 9_000)], SECOND).lanes).toBe(1);
    expect(inLanes([bar(1, 0, 5_200), bar(2, 5_000, 9_000)], HOUR).lanes).toBe(2);
    const burst = Array.from({ length: 9 }, (_, at) => bar(at, at * 5, at * 5 + 20));
    expect(inLanes(burst, SECOND).lanes).toBe(4);
    expect(inLanes(burst, 24 * HOUR).lanes, 'where it is less than a pixel').toBe(1);
    expect(inLanes([bar(1, 0, 60_000), bar(2, 5_000, 70_000)], 24 * HOUR).lanes, 'of runs that are as well').toBe(2);
  });

  it('have the fires to come beside what ran, and not those that are past', () => {
    const [row] = rows({ executions: [execution(1, { job_id: 7 })], upcoming: [upcoming(7, [-1, 5, 10, 90])] });
    expect(row?.bars).toHaveLength(1);
    expect(row?.fires.map((fire) => fire.at)).toEqual([NOW + 5 * MINUTE, NOW + 10 * MINUTE]);
  });

  it('have one row for what is to come where nobody knows who will run it, at the end', () => {
    const found = rows({ executions: [execution(1, {})], upcoming: [upcoming(7, [5]), upcoming(8, [6])], by: 'owner' });
    expect(found.map((row) => [row.name, row.fires.length])).toEqual([
      ['a', 0],
      ['To come', 2],
    ]);
  });

  it('say from when on a job fires too often to be told', () => {
    const [row] = rows({ upcoming: [upcoming(7, [1, 2], true)] });
    expect(row?.oftenFrom).toBe(NOW + 2 * MINUTE);
  });
});

describe('fires', () => {
  it('whose marks would lie on each other are drawn as one', () => {
    const [row] = rows({ upcoming: [upcoming(7, [1, 2, 3, 20, 40])] });
    const drawn = asDrawn(row?.fires ?? [], (at) => ((at - NOW) / MINUTE) * 4, 9);
    expect(drawn.map((fires) => fires.length)).toEqual([3, 1, 1]);
  });
});

describe('ticks', () => {
  it('are round on the clock of the zone', () => {
    const kolkata = offsetOf('Asia/Kolkata', NOW);
    expect(kolkata).toBe(5.5 * HOUR);
    expect(offsetOf('UTC', NOW)).toBe(0);
    expect(offsetOf('America/New_York', NOW)).toBe(-5 * HOUR);
    const found = ticks({ from: NOW - 6 * HOUR, to: NOW + HOUR }, 8, kolkata);
    expect(found).toHaveLength(7);
    expect(found.every((tick) => (tick + kolkata) % HOUR === 0)).toBe(true);
  });

  it.each([1_000, 90_000, HOUR, 25 * HOUR, 40 * 24 * HOUR])('are neither too many nor none in %i ms', (width) => {
    const found = ticks({ from: NOW + 1, to: NOW + 1 + width }, 10, 0);
    expect(found.length).toBeGreaterThan(0);
    expect(found.length).toBeLessThanOrEqual(11);
  });
});

it('lists together have each execution once, as it was told last', () => {
  const found = together([execution(1, { status: 'pending' })], undefined, [execution(1, {}), execution(2, {})]);
  expect(found.map((one) => [one.id, one.status])).toEqual([
    [2, 'success'],
    [1, 'success'],
  ]);
});
