// Definitions as a file: what the API gives and takes, in an object that can be sent as it is.

export type Definition = Record<string, unknown>;

/** So many are taken in at once. */
export const AT_ONCE = 500;

export type Unreadable = 'notJson' | 'noJobs' | 'tooMany';

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
  return jobs.length > AT_ONCE ? 'tooMany' : jobs;
}

function isObject(value: unknown): value is Definition {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
