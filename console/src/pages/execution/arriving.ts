// Who goes to an execution from another page does so by something that is gone with that page: without help the focus
// would be nowhere, and the keyboard would begin at the top of the window.

import { useEffect } from 'react';
import { useNavigationType } from 'react-router';

/** Gives the focus to the heading once the page is there, if one was led to it and the focus is nowhere else. */
export function useFocusedHeading(there: boolean): void {
  const led = useNavigationType() === 'PUSH';
  useEffect(() => {
    const lost = document.activeElement === null || document.activeElement === document.body;
    const heading = document.querySelector('main h1');
    if (!there || !led || !lost || !(heading instanceof HTMLElement)) return;
    heading.tabIndex = -1;
    heading.focus({ preventScroll: true });
  }, [there, led]);
}
