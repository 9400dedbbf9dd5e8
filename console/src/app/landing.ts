// The page one starts with. Who opens the root of the console goes to the page they chose; who reloads the dashboard,
// or comes back to it, stays there.

import { prefix } from '@/api/base';
import { PAGES } from '@/app/pages';
import { preference } from '@/app/preferences';

/** The chosen page, if it is one of those in the navigation. */
export function landingPage(): string {
  const chosen = preference('landing');
  return PAGES.some((page) => page.nav && page.path === chosen) ? chosen : '/';
}

export function goToLandingPage(): void {
  const [opened] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const atRoot = window.location.pathname === prefix && window.location.search === '';
  if (atRoot && opened?.type === 'navigate') {
    window.history.replaceState(null, '', prefix.replace(/\/$/, '') + landingPage());
  }
}
