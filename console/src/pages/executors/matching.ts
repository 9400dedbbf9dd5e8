// Which groups and executors a text means: all of them are on the page, so it is looked for here.

import type { Executor, Group } from '@/api/types';

function has(text: string, ...among: string[]): boolean {
  return among.some((one) => one.toLowerCase().includes(text));
}

export function groupsWith(text: string | undefined, groups: Group[]): Group[] {
  const wanted = text?.trim().toLowerCase();
  return wanted ? groups.filter((one) => has(wanted, one.app_name, one.title)) : groups;
}

/** Those whose address, app or queue has it, or whose group is called so. */
export function executorsWith(text: string | undefined, executors: Executor[], groups: Group[]): Executor[] {
  const wanted = text?.trim().toLowerCase();
  if (!wanted) return executors;
  const titles = new Map(groups.map((one) => [one.app_name, one.title]));
  return executors.filter((one) =>
    has(wanted, one.address, one.app_name, titles.get(one.app_name) ?? '', ...one.queues),
  );
}
