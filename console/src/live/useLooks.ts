import { useQueryClient } from '@tanstack/react-query';
import { useEffect } from 'react';
import { serverNow } from '@/api/serverClock';
import { isShown, lookAtRights } from '@/api/session';
import type { LiveConnection } from '@/live/connection';

/** How often a page that has no line asks for all it shows, in ms: a proxy may let no line through, and yet the rest. */
export const UNTOLD = 10_000;

/** While the line is away nobody tells of changes: as long as the server answers at all, it is asked now and then. */
export function useLooks(connection: LiveConnection, away: boolean): void {
  const queries = useQueryClient();
  useEffect(() => {
    if (!away) return;
    let timer = setTimeout(look, UNTOLD);
    let over = false;
    async function look() {
      const began = serverNow();
      // Where nobody is there pages keep what they have.
      if (await lookAtRights(queries)) {
        await queries.invalidateQueries({ predicate: isShown }, { cancelRefetch: false });
        connection.looked(began);
      }
      if (!over) timer = setTimeout(look, UNTOLD);
    }
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [away, connection, queries]);
}
