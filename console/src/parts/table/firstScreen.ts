// Making the rows of a list is most of what a page does. Those one sees at first are made at once, and the page can be
// used; the others follow as soon as nobody wants anything of it.

import { useDeferredValue } from 'react';

/** What a usual screen shows below the head of a page. */
const AT_ONCE = 12;

/** The rows to be made now. Rows that were there stay. */
export function useFirstScreen<Row>(rows: Row[]): Row[] {
  const wanted = useDeferredValue(rows.length, 0);
  return wanted >= rows.length ? rows : rows.slice(0, Math.max(wanted, AT_ONCE));
}
