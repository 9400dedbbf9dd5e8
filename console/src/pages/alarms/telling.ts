// What is true of a job that fails: who was told of it, why nobody was, and who may keep it silent.

import { allows, allowsSomewhere, type Rights } from '@/api/session';
import type { AlarmRule, Failing } from '@/pages/alarms/queries';

export type Untold = 'noChannel' | 'silenced' | 'notTold';

/** Why nobody was told of a job, or null: somebody was, or a message that says so itself is on its way. */
export function whyUntold({ told_at, channels, silenced, messages }: Failing): Untold | null {
  if (told_at !== null || messages.some(isUntold)) return null;
  if (channels.length === 0) return 'noChannel';
  return silenced ? 'silenced' : 'notTold';
}

export function isUntold({ state }: Failing['messages'][number]): boolean {
  return state !== 'told';
}

/** Whether a job says one of these itself, instead of inheriting it. */
export function saidItself(rule: Pick<AlarmRule, 'own'>, ...parts: AlarmRule['own']): boolean {
  return parts.some((part) => rule.own.includes(part));
}

/** Whether somebody may silence this job; without one, anything at all. A job that was removed belongs to no group. */
export function maySilence(rights: Rights, job?: { job_group?: number | null | undefined }): boolean {
  if (!job) return allowsSomewhere(rights, 'operate');
  return allows(rights, 'operate', job.job_group ?? undefined);
}
