// The page one starts with. Who opens the root of the console goes to the page they chose; who reloads the dashboard,
// or comes back to it, stays there. Who may not see the page they chose gets the dashboard.

import { prefix } from '@/api/base';
import { useOfferedPages } from '@/app/offeredPages';
import { PAGES } from '@/app/pages';
import { preference } from '@/app/preferences';

/** The chosen page, if it is one of those in the navigation. */
export function landingPage(): string {
  const chosen = preference('landing');
  return PAGES.some((page) => page.nav && page.path === chosen) ? chosen : '/';
}

export function goToLandingPage(): void {
  const { pathname, search, hash } = window.location;
  if (`${pathname}/` === prefix) window.history.replaceState(null, '', prefix + search + hash); // no route is outside it
  const [opened] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[];
  const atRoot = window.location.pathname === prefix && window.location.search === '';
  if (atRoot && opened?.type === 'navigate') {
    window.history.replaceState(null, '', prefix.replace(/\/$/, '') + landingPage());
  }
}

/** Whether a page is the one a person chose to start with, and may not see: who they are is known only now. */
export function useBarredLanding(pathname: string): boolean {
  const offered = useOfferedPages();
  return pathname !== '/' && pathname === landingPage() && !offered.some(({ path }) => path === pathname);
}
