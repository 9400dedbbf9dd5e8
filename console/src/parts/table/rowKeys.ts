// The keys of lists, on every page that shows rows: j and k walk through them, from one table into the next, x selects, o
// opens. The row that has the focus is the current one, so that there is no second cursor beside the one of the browser;
// and what a key does is what a click would.

import { type RefObject, useEffect } from 'react';
import { plainKey } from '@/app/keys';

/** Which row comes next: none is current at first, and the walk ends at either end. */
export function stepped(current: number, count: number, by: 1 | -1): number {
  if (current < 0) return by > 0 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, current + by));
}

/** What leads from a row to what it stands for: a link that says so, its first, or what unfolds it. */
function openerOf(row: HTMLElement): HTMLElement | null {
  const ways = ['a[data-open]', 'a[href]', 'button.ant-table-row-expand-icon:not(.ant-table-row-expand-icon-spaced)'];
  for (const way of ways) {
    const found = row.querySelector<HTMLElement>(way);
    if (found) return found;
  }
  return null;
}

function boxOf(row: HTMLElement): HTMLElement | null {
  return row.querySelector<HTMLElement>('.ant-table-selection-column input');
}

function goTo(row: HTMLElement | undefined): void {
  row?.setAttribute('tabindex', '-1');
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: 'nearest' });
}

export function useRowKeys(place: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const key = plainKey(event);
      if (key === null || !['j', 'k', 'x', 'o', 'Enter'].includes(key)) return;
      const rows = [...(place.current?.querySelectorAll<HTMLElement>('tr[data-row-key]') ?? [])];
      if (rows.length === 0) return;
      const at = rows.findIndex((row) => row.contains(document.activeElement));
      const current = rows[at];
      if (key === 'j' || key === 'k') goTo(rows[stepped(at, rows.length, key === 'j' ? 1 : -1)]);
      else if (!current || (key === 'Enter' && current !== document.activeElement)) return;
      else if (key === 'x') boxOf(current)?.click();
      else openerOf(current)?.click();
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [place]);
}
