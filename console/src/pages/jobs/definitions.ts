// Definitions as a file: what the API gives and takes, in an object that can be sent as it is.

export type Definition = Record<string, unknown>;

/** So many are taken in at once, and so many characters: a request has bounds. */
export const AT_ONCE = 500;
export const PART_SIZE = 900_000;

export type Unreadable = 'notJson' | 'noJobs';

export function fileOf(jobs: readonly Definition[]): string {
  return `${JSON.stringify({ jobs }, null, 2)}\n`;
}

/** The definitions in a file, or why there are none. A list by itself is one too. */
export function readFile(text: string): Definition[] | Unreadable {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return 'notJson';
  }
  const jobs = isObject(read) && 'jobs' in read ? read.jobs : read;
  if (!Array.isArray(jobs) || jobs.length === 0 || !jobs.every(isObject)) return 'noJobs';
  return jobs;
}

/**
 * The definitions in parts that are taken in one after the other, those first that others name. What fits into one
 * request stays together, in its own order.
 */
export function partsOf(jobs: Definition[]): Definition[][] {
  const sizes = new Map(jobs.map((job) => [job, new TextEncoder().encode(JSON.stringify(job)).length + 1]));
  const sizeOf = (some: Definition[]) => some.reduce((sum, job) => sum + (sizes.get(job) ?? 0), 0);
  if (jobs.length <= AT_ONCE && sizeOf(jobs) <= PART_SIZE) return [jobs];
  const parts: Definition[][] = [];
  let filled = 0;
  for (const job of inOrder(jobs)) {
    const size = sizes.get(job) ?? 0;
    const last = parts.at(-1);
    if (last && last.length < AT_ONCE && filled + size <= PART_SIZE) last.push(job);
    else parts.push([job]);
    filled = last === parts.at(-1) ? filled + size : size;
  }
  return parts;
}

/** The numbers of two definitions of one job: in two parts, the second would undo the first. */
export function toldTwice(jobs: readonly Definition[]): { one: number; other: number } | null {
  const seen = new Map<string, number>();
  for (const [place, job] of jobs.entries()) {
    const name = nameOf(job);
    const before = name === null ? undefined : seen.get(name);
    if (before !== undefined) return { one: before + 1, other: place + 1 };
    if (name !== null) seen.set(name, place);
  }
  return null;
}

/** Those first that others name; a ring is left to the server, which refuses it where it closes. */
function inOrder(jobs: readonly Definition[]): Definition[] {
  const named = new Map([...jobs].reverse().map((job) => [nameOf(job), job]));
  const ordered = new Set<Definition>();
  const entered = new Set<Definition>();
  for (const first of jobs) {
    const stack = [first];
    for (let job = stack.at(-1); job; job = stack.at(-1)) {
      entered.add(job);
      const waiting = mentioned(job)
        .map((name) => named.get(name))
        .find((one) => one && !entered.has(one));
      if (waiting) stack.push(waiting);
      else ordered.add(stack.pop() as Definition);
    }
  }
  return [...ordered];
}

/** Which job a definition is about; null where it says that by an id, or not at all. */
function nameOf({ job_group: group, job_desc: name }: Definition): string | null {
  return typeof group === 'string' && typeof name === 'string' ? `${group.trim()}/${name.trim()}` : null;
}

function mentioned({ child_jobid: children, super_task_id: like }: Definition): string[] {
  const names = [...(Array.isArray(children) ? children : []), like];
  return names.filter((one) => typeof one === 'string').map(parted);
}

/** An app name has no slash, so the first one parts them. */
function parted(reference: string): string {
  const at = reference.indexOf('/');
  return at < 0 ? reference.trim() : `${reference.slice(0, at).trim()}/${reference.slice(at + 1).trim()}`;
}

function isObject(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
