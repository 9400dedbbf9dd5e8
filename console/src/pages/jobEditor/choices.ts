// What can be chosen, in the order in which it is shown. A choice that is added to the API and not here does not compile.

import type { Draft } from '@/parts/job/draft';

function listed<Choice extends string>(all: Record<Choice, true>): Choice[] {
  return Object.keys(all) as Choice[];
}

export const SCHEDULES = listed<Draft['schedule_type']>({
  CRON: true,
  FIX_RATE: true,
  FIX_DELAY: true,
  AT: true,
  NONE: true,
});

export const DST = listed<Draft['dst_policy']>({ auto: true, wall: true, rhythm: true });

export const MISFIRES = listed<Draft['misfire_strategy']>({ DO_NOTHING: true, FIRE_ONCE_NOW: true, FIRE_ALL: true });

export const ROUTES = listed<Draft['executor_route_strategy']>({
  ROUND: true,
  RANDOM: true,
  FIRST: true,
  LAST: true,
  LEAST_LOADED: true,
  LEAST_FREQUENTLY_USED: true,
  LEAST_RECENTLY_USED: true,
  CONSISTENT_HASH: true,
  FAILOVER: true,
  BUSYOVER: true,
  SHARDING_BROADCAST: true,
});

export const BLOCKS = listed<Draft['executor_block_strategy']>({
  SERIAL_EXECUTION: true,
  DISCARD_LATER: true,
  COVER_EARLY: true,
  CONCURRENT: true,
});

export const OVERLAPS = listed<Draft['overlap']>({ cluster: true, executor: true });

export const CHILD_PARAMS = listed<Draft['child_param']>({ own: true, result: true });

export const PRIORITIES = [0, 1, 2, 3] as const;

export const CODE = listed<Exclude<Draft['glue_type'], 'BEAN'>>({
  GLUE: true,
  GLUE_PYTHON: true,
  GLUE_SHELL: true,
  GLUE_NODEJS: true,
  GLUE_POWERSHELL: true,
  GLUE_PHP: true,
  GLUE_PYTHON2: true,
  GLUE_GROOVY: true,
});

/** Languages have the same names everywhere. */
export const CODE_NAMES: Record<(typeof CODE)[number], string> = {
  GLUE: 'Python (GLUE)',
  GLUE_PYTHON: 'Python',
  GLUE_SHELL: 'Shell',
  GLUE_NODEJS: 'Node.js',
  GLUE_POWERSHELL: 'PowerShell',
  GLUE_PHP: 'PHP',
  GLUE_PYTHON2: 'Python 2',
  GLUE_GROOVY: 'Groovy',
};
