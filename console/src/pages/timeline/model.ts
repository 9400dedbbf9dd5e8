// What the timeline shows, as plain numbers: which rows there are, what lies in them, and where. The chart only draws.

import type { Execution, UpcomingJob } from '@/api/types';
import { endedAt } from '@/parts/job/runs';
import { type ListedStatus, listedAs, TERMINAL } from '@/status/statuses';

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

export interface Span {
  from: number;
  to: number;
}

export const ROWS_BY = ['job', 'executor', 'owner', 'group', 'tag'] as const;
export type RowsBy = (typeof ROWS_BY)[number];

export interface Bar {
  execution: Execution;
  /** When it was opened, or due if it was opened ahead of that; what lies between this and `from` was waiting. */
  opened: number;
  from: number;
  to: number;
  /** It has not begun: until now it waits. */
  waits: boolean;
  lane: number;
}

export interface Fire {
  job: UpcomingJob;
  at: number;
}

export interface Row {
  key: string;
  name: string;
  jobId: number | null;
  bars: Bar[];
  fires: Fire[];
  /** From here on the job fires too often for its fires to be told one by one. */
  oftenFrom: number | null;
  lanes: number;
  /** How many bars lie on others, because more ran at a time than there are lanes. */
  covered: number;
}

export interface Naming {
  removedJob: string;
  nobody: string;
  toCome: string;
  untagged: string;
  groups: ReadonlyMap<number, string>;
}

export const LANES = 4;
/** The height of a lane in pixels. */
export const LANE = 14;
export const HOURS = ['1', '6', '24'] as const;
export type Hours = (typeof HOURS)[number];

/** Less than a second has nothing to tell apart, and of more than a month only the newest moments would be drawn. */
const [SHORTEST, LONGEST] = [1_000, 31 * 24 * HOUR];
/** Nothing ran before the clocks of computers began, and no instant after the year 9999 can be asked for. */
const [FIRST, LAST_INSTANT] = [0, Date.parse('9999-12-31T23:59:59Z')];

/** What was zoomed to, as it stands in the address; null: nothing, undefined: what cannot be looked at. */
export function zoomIn({ from, to }: { from?: string; to?: string }): Span | null | undefined {
  if (from === undefined && to === undefined) return null;
  const span = { from: Date.parse(from ?? ''), to: Date.parse(to ?? '') };
  const width = span.to - span.from; // no number, unless both are
  return width >= SHORTEST && width <= LONGEST && span.from >= FIRST && span.to <= LAST_INSTANT ? span : undefined;
}

/** The last hours and the next one. */
export function recentSpan(hours: Hours, now: number): Span {
  return { from: now - Number(hours) * HOUR, to: now + HOUR };
}

/** The span that can be looked at and is most like this one. */
export function within({ from, to }: Span): Span {
  const width = Math.round(Math.min(LONGEST, Math.max(SHORTEST, to - from)));
  const start = Math.round((from + to - width) / 2);
  const kept = Math.min(LAST_INSTANT - width, Math.max(FIRST, start));
  return { from: kept, to: kept + width };
}

export type Move = 'in' | 'out' | 'earlier' | 'later';

/** A narrower or wider span around its middle, or one beside it; null where there is no further. */
export function moved(span: Span, how: Move): Span | null {
  const width = span.to - span.from;
  const ends = {
    in: width <= SHORTEST,
    out: width >= LONGEST,
    earlier: span.from <= FIRST,
    later: span.to >= LAST_INSTANT,
  };
  if (ends[how]) return null;
  if (how === 'in') return within({ from: span.from + width / 4, to: span.to - width / 4 });
  if (how === 'out') return within({ from: span.from - width / 2, to: span.to + width / 2 });
  const step = (how === 'earlier' ? -1 : 1) * (width / 2);
  return within({ from: span.from + step, to: span.to + step });
}

/** Whether an open execution waits: what an executor has and says nothing of may run, for not all tell when it begins. */
function isWaiting({ status, start_time, phase, queue_position }: Execution): boolean {
  if (TERMINAL[status] || start_time !== null) return false;
  return (phase !== 'dispatched' && phase !== 'running') || queue_position !== null;
}

/** Where an execution lies in time. One that is open lasts until now; one that never started has no length. */
export function barOf(execution: Execution, now: number): Omit<Bar, 'lane'> {
  const due = execution.schedule_time === null ? 0 : Date.parse(execution.schedule_time);
  const opened = Math.max(Date.parse(execution.trigger_time), due); // what is sent ahead does not wait yet
  const started = execution.start_time === null ? null : Date.parse(execution.start_time);
  const ended = endedAt(execution);
  const waits = isWaiting(execution);
  const taken = waits || !execution.dispatch_time ? opened : Math.max(opened, Date.parse(execution.dispatch_time));
  const from = started ?? (TERMINAL[execution.status] ? (ended ?? opened) : taken);
  const to = ended ?? (TERMINAL[execution.status] ? from : now);
  return { execution, opened: Math.min(opened, from), from, to: Math.max(from, to), waits };
}

/** An end that nobody measured is recorded when the result arrives, by another clock than the start: mostly so many ms
 * late. */
const LATE = 100;
/** Where that could be seen, an end is no later than this share of the time before. */
const LATE_SHARE = 0.1;
/** A chart is about so many pixels wide. */
const PIXELS = 1_000;

/** Whether a bar may lie in one lane behind another. Time decides, not how wide bars are drawn. */
function isBehind(last: Omit<Bar, 'lane'>, bar: Omit<Bar, 'lane'>, width: number): boolean {
  const seen = width < LATE * PIXELS;
  return last.to - bar.from <= (seen ? Math.min(LATE, LATE_SHARE * (bar.from - last.from)) : LATE);
}

/** Executions that ran at the same time lie in lanes below each other, and what waits below them; beyond a few, in the
 * last one. `width`: of the span, in ms. */
export function inLanes(bars: Omit<Bar, 'lane'>[], width: number): Pick<Row, 'bars' | 'lanes' | 'covered'> {
  const lasts: Omit<Bar, 'lane'>[] = [];
  let covered = 0;
  const laid = [...bars]
    .sort(
      (one, other) =>
        Number(one.waits) - Number(other.waits) || one.from - other.from || one.execution.id - other.execution.id,
    )
    .map((bar) => {
      const free = lasts.findIndex((last) => isBehind(last, bar, width));
      const lane = free >= 0 ? free : Math.min(lasts.length, LANES - 1);
      if (free < 0 && lasts.length === LANES) covered += 1;
      const last = lasts[lane];
      if (!last || last.to <= bar.to) lasts[lane] = bar;
      return { ...bar, lane };
    });
  return { bars: laid, lanes: Math.max(1, lasts.length), covered };
}

interface Given {
  executions: readonly Execution[];
  upcoming: readonly UpcomingJob[];
  by: RowsBy;
  span: Span;
  now: number;
  naming: Naming;
}

/** The rows in the order of their names; what is untagged and a row for what is to come are last. */
export function layRows({ executions, upcoming, by, span, now, naming }: Given): Row[] {
  const found = new Map<string, { row: Row; loose: Omit<Bar, 'lane'>[] }>();
  const at = (place: Place) => {
    const known = found.get(place.key);
    if (known) return known;
    const made = { row: { ...place, bars: [], fires: [], oftenFrom: null, lanes: 1, covered: 0 }, loose: [] };
    found.set(place.key, made);
    return made;
  };
  for (const execution of executions) {
    const bar = barOf(execution, now);
    if (bar.to < span.from || bar.opened > span.to) continue;
    for (const place of rowsOf(execution, by, naming)) at(place).loose.push(bar);
  }
  for (const job of upcoming) {
    const times = job.due_times.map((due) => Date.parse(due));
    const fires = times.filter((due) => due >= now && due >= span.from && due <= span.to);
    const last = times.at(-1);
    const often = job.more && last !== undefined && last < span.to ? Math.max(last, span.from) : null;
    if (fires.length === 0 && often === null) continue;
    for (const { row } of rowsOfFire(job, by, naming).map(at)) {
      row.fires.push(...fires.map((due) => ({ job, at: due })));
      if (often !== null) row.oftenFrom = Math.min(often, row.oftenFrom ?? often);
    }
  }
  const rows = [...found.values()].map(({ row, loose }) => ({ ...row, ...inLanes(loose, span.to - span.from) }));
  const order = (row: Row) => LAST.indexOf(row.key);
  return rows.sort((one, other) => order(one) - order(other) || one.name.localeCompare(other.name));
}

/** Fires as they are drawn: those whose marks would lie on each other together, as one. */
export function asDrawn(fires: readonly Fire[], scale: (at: number) => number, least: number): Fire[][] {
  const found: Fire[][] = [];
  for (const fire of [...fires].sort((one, other) => one.at - other.at)) {
    const before = found.at(-1);
    const last = before?.at(-1);
    if (before && last && scale(fire.at) - scale(last.at) < least) before.push(fire);
    else found.push([fire]);
  }
  return found;
}

const TO_COME = 'to-come';
const UNTAGGED = 'untagged';
const LAST = [UNTAGGED, TO_COME];

type Place = Pick<Row, 'key' | 'name' | 'jobId'>;

/** Where an execution is shown: in one row, or in those of all tags of its job. */
function rowsOf(one: Execution, by: RowsBy, naming: Naming): Place[] {
  if (by === 'job') return [{ key: `job ${one.job_id}`, name: one.job_desc ?? naming.removedJob, jobId: one.job_id }];
  if (by === 'group') return [groupRow(one.job_group, naming)];
  if (by === 'tag') return tagRows(one.job_tags, naming);
  // What has ended has no owner any more; it was sent by somebody.
  const coordinator = one.owner_node ?? one.sent_by;
  const who = by === 'executor' ? (one.executor_address?.replace(/^https?:\/\//, '') ?? one.queue) : coordinator;
  return [{ key: `${by} ${who}`, name: who ?? naming.nobody, jobId: null }];
}

function rowsOfFire(job: UpcomingJob, by: RowsBy, naming: Naming): Place[] {
  if (by === 'job') return [{ key: `job ${job.job_id}`, name: job.job_desc, jobId: job.job_id }];
  if (by === 'group') return [groupRow(job.job_group, naming)];
  if (by === 'tag') return tagRows(job.tags, naming);
  return [{ key: TO_COME, name: naming.toCome, jobId: null }];
}

function groupRow(group: number, naming: Naming): Place {
  return { key: `group ${group}`, name: naming.groups.get(group) ?? String(group), jobId: null };
}

function tagRows(tags: readonly string[], naming: Naming): Place[] {
  if (tags.length === 0) return [{ key: UNTAGGED, name: naming.untagged, jobId: null }];
  return tags.map((tag) => ({ key: `tag ${tag}`, name: tag, jobId: null }));
}

const STEPS = [1, 5, 10, 30, 60, 300, 600, 900, 1_800, 3_600, 7_200, 10_800, 21_600, 43_200, 86_400].map(
  (seconds) => seconds * 1_000,
);

/** Round instants to label: as many as fit, in steps of a clock as the zone has it. */
export function ticks(span: Span, most: number, zoneOffset: number): number[] {
  const width = span.to - span.from;
  const step = STEPS.find((one) => width / one <= most) ?? Math.ceil(width / most / 86_400_000) * 86_400_000;
  const first = Math.ceil((span.from + zoneOffset) / step) * step - zoneOffset;
  return Array.from({ length: Math.max(0, Math.floor((span.to - first) / step) + 1) }, (_, n) => first + n * step);
}

/** How far a zone is ahead of UTC at an instant, in ms. */
export function offsetOf(zone: string, at: number): number {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(at);
  const name = parts.find((part) => part.type === 'timeZoneName')?.value ?? '';
  const found = /([+-])(\d\d):(\d\d)/.exec(name);
  if (!found) return 0;
  return (found[1] === '-' ? -1 : 1) * (Number(found[2]) * HOUR + Number(found[3]) * MINUTE);
}

/** Lists put together, each execution once; what was asked for later is newer. */
export function together(...lists: (readonly Execution[] | undefined)[]): Execution[] {
  const byId = new Map<number, Execution>();
  for (const list of lists) for (const one of list ?? []) byId.set(one.id, one);
  return [...byId.values()].sort((one, other) => other.id - one.id);
}

/** How many executions there are of each status; one that is in several rows counts once. */
export function counts(rows: readonly Row[]): Map<ListedStatus, number> {
  const found = new Map<ListedStatus, number>();
  for (const execution of together(rows.flatMap((row) => row.bars.map(({ execution }) => execution)))) {
    const status = listedAs(execution);
    found.set(status, (found.get(status) ?? 0) + 1);
  }
  return found;
}
