// The keys of a list: j and k walk through its rows, x selects, o opens. The row that has the focus is the current one,
// so that there is no second cursor beside the one of the browser; and what a key does is what a click would.

import { type RefObject, useEffect } from 'react';
import { plainKey } from '@/app/keys';

/** Which row comes next: none is current at first, and the walk ends at either end. */
export function stepped(current: number, count: number, by: 1 | -1): number {
  if (current < 0) return by > 0 ? 0 : count - 1;
  return Math.min(count - 1, Math.max(0, current + by));
}

/** What leads from a row to what it stands for: a link that says so, or its first. */
function linkOf(row: HTMLElement): HTMLElement | null {
  return row.querySelector<HTMLElement>('a[data-open]') ?? row.querySelector<HTMLElement>('a[href]');
}

function boxOf(row: HTMLElement): HTMLElement | null {
  return row.querySelector<HTMLElement>('.ant-table-selection-column input');
}

function goTo(row: HTMLElement | undefined): void {
  row?.setAttribute('tabindex', '-1');
  row?.focus({ preventScroll: true });
  row?.scrollIntoView({ block: 'nearest' });
}

export function useRowKeys(table: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const key = plainKey(event);
      if (key === null || !['j', 'k', 'x', 'o', 'Enter'].includes(key)) return;
      const rows = [...(table.current?.querySelectorAll<HTMLElement>('tr[data-row-key]') ?? [])];
      const at = rows.findIndex((row) => row.contains(document.activeElement));
      const current = rows[at];
      if (key === 'j' || key === 'k') goTo(rows[stepped(at, rows.length, key === 'j' ? 1 : -1)]);
      else if (!current || (key === 'Enter' && current !== document.activeElement)) return;
      else if (key === 'x') boxOf(current)?.click();
      else linkOf(current)?.click();
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [table]);
}
