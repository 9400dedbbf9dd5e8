import { allows, allowsSomewhere, type Rights, useSession } from '@/api/session';
import { PAGES, type PageEntry } from '@/app/pages';

/** Whether somebody may open a page. */
export function mayOpen(rights: Rights, { needs, everywhere }: PageEntry): boolean {
  return everywhere ? allows(rights, needs) : allowsSomewhere(rights, needs);
}

/** The pages of the navigation that the person may open. */
export function useOfferedPages(): PageEntry[] {
  const session = useSession();
  return PAGES.filter((page) => page.nav && session && mayOpen(session.rights, page));
}
