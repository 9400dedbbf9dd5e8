// One thing done to several jobs, one after the other: what is refused for one does not keep the others.

import { Problem } from '@/api/problem';

export interface Named {
  id: number;
  name: string;
}

export interface Outcome {
  done: number;
  refused: { name: string; reason: string }[];
}

export async function doToEach(jobs: readonly Named[], act: (id: number) => Promise<unknown>): Promise<Outcome> {
  const outcome: Outcome = { done: 0, refused: [] };
  for (const { id, name } of jobs) {
    try {
      await act(id);
      outcome.done += 1;
    } catch (reason) {
      if (!(reason instanceof Problem) || reason.status === 401) throw reason; // the others would meet the same
      outcome.refused.push({ name, reason: reason.message });
    }
  }
  return outcome;
}
