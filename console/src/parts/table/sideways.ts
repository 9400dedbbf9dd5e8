// A table wider than its place is moved sideways; with the keyboard too, so that place can take the focus and has a name.

import { type RefCallback, useCallback } from 'react';

/** What is around a table. Its place takes the focus only while there is something to move: else it would stop for nothing. */
export function useSideways(label: string): RefCallback<HTMLElement> {
  return useCallback(
    (box) => {
      const place = box?.querySelector<HTMLElement>('.ant-table-content');
      if (!place) return;
      const look = () => offer(place, label);
      const watching = new ResizeObserver(look);
      watching.observe(place);
      if (place.firstElementChild) watching.observe(place.firstElementChild);
      return () => watching.disconnect();
    },
    [label],
  );
}

function offer(place: HTMLElement, label: string): void {
  if (place.scrollWidth > place.clientWidth) {
    place.setAttribute('tabindex', '0');
    place.setAttribute('role', 'group');
    place.setAttribute('aria-label', label);
  } else {
    for (const name of ['tabindex', 'role', 'aria-label']) place.removeAttribute(name);
  }
}
