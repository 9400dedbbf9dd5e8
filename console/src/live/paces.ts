// How often what has changed is asked for: rows and lists at once and once more when they have rested; what only sums
// up, such as statistics, every few seconds. One execution more changes a sum, and hardly what it says.

import type { Query, QueryClient } from '@tanstack/react-query';
import { isToldBy } from '@/app/queries';
import { Refreshing } from '@/live/refreshing';

/** The shortest pause between two looks at sums, in ms, whatever changes meanwhile. */
const SUMS_PAUSE = 5_000;

/** Takes the subjects that have changed, and asks again for what is shown of them. */
export function paced(queries: QueryClient, now: () => number): (subject: string) => void {
  async function look(predicate: (query: Query) => boolean): Promise<void> {
    const before = queries.isFetching({ predicate }) > 0; // asked before the change, so perhaps answered before it too
    await queries.invalidateQueries({ predicate }, { cancelRefetch: false });
    if (before) await queries.invalidateQueries({ predicate }, { cancelRefetch: false });
  }

  const others = new Refreshing({
    now,
    look: (subject) => look((query) => !query.meta?.sums && isToldBy(subject, query)),
  });
  const changedOf = new Set<string>();
  const sums = new Refreshing({
    now,
    pause: SUMS_PAUSE,
    look: () => {
      const subjects = [...changedOf];
      changedOf.clear();
      return look((query) => !!query.meta?.sums && subjects.some((subject) => isToldBy(subject, query)));
    },
  });
  return (subject) => {
    others.changed(subject);
    changedOf.add(subject);
    sums.changed('sums'); // one for all subjects: several tell of the same query
  };
}
