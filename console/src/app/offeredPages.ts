import { allows, allowsSomewhere, useSession } from '@/api/session';
import { PAGES, type PageEntry } from '@/app/pages';

/** The pages of the navigation that the person may open. */
export function useOfferedPages(): PageEntry[] {
  const session = useSession();
  return PAGES.filter(({ nav, needs, everywhere }) => {
    if (!nav || !session) return false;
    return everywhere ? allows(session.rights, needs) : allowsSomewhere(session.rights, needs);
  });
}
