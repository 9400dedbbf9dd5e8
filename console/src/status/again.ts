import type { Execution } from '@/api/types';
import { TERMINAL } from '@/status/statuses';

/** Whether it has ended and its job is still there: without that, nothing can be done again, nor is what only tried code. */
export function canRetry(one: Pick<Execution, 'status' | 'job_desc' | 'test'>): boolean {
  return TERMINAL[one.status] && one.job_desc !== null && !one.test;
}
