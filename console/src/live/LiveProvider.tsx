// Live changes go into the query cache: a subject that changed is asked for again, by those pages that show it.

import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { socketAddress } from '@/api/base';
import { sessionEnded } from '@/api/client';
import { answeredAt, serverNow } from '@/api/serverClock';
import { isShown, lookAtRights, sessionQuery, useSession } from '@/api/session';
import { isCut, LiveConnection, type LiveState } from '@/live/connection';
import { paced } from '@/live/paces';
import { useLooks } from '@/live/useLooks';
import { useNow } from '@/parts/time/useNow';

interface Live {
  state: LiveState;
  /** When the server was last heard; not part of what makes pages draw themselves anew. */
  heardAt: () => number;
  /** The time that what one sees is from; null while it goes on. */
  heldAt: () => number | null;
  /** By the person, or because the session has ended. */
  paused: boolean;
  setPaused: (paused: boolean) => void;
  retryNow: () => void;
}

const LiveContext = createContext<Live | null>(null);

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const session = useSession();
  const [held, setPaused] = useState(false);
  const paused = held || !!session?.ended;
  const connection = useMemo(() => {
    const changed = paced(queries, () => Date.now());
    return new LiveConnection({
      since: queries.getQueryData(sessionQuery.queryKey)?.mark ?? null,
      open: (since) => {
        const after = since === null ? '' : `?since=${encodeURIComponent(since)}`;
        return new WebSocket(socketAddress(`/api/v1/changes${after}`));
      },
      now: serverNow,
      chance: () => Math.random(),
      changed: (subjects) => {
        if (subjects === null) void queries.invalidateQueries({ predicate: isShown });
        if (subjects === null || subjects.includes('session')) void lookAtRights(queries);
        for (const subject of subjects ?? []) if (subject !== 'session') changed(subject);
      },
      refused: sessionEnded,
    });
  }, [queries]);
  useEffect(() => {
    const look = () => connection.hide(document.hidden);
    look();
    connection.start();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      connection.stop();
    };
  }, [connection]);
  useEffect(() => connection.pause(paused), [connection, paused]);
  const state = useSyncExternalStore(connection.subscribe, () => connection.state);
  useLooks(connection, isCut(state));
  const live = useMemo(
    () => ({
      state,
      heardAt: () => connection.heardAt,
      // What is opened while it is paused is newer than the rest.
      heldAt: () => (state.kind === 'paused' ? Math.max(connection.pausedAt, answeredAt()) : null),
      paused,
      setPaused,
      retryNow: () => connection.retryNow(),
    }),
    [state, paused, connection],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

export function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error('useLive needs a LiveProvider around it.');
  return live;
}

/** The line of the page one is on; null where there is none, as for those who are not signed in. */
export function useLine(): LiveState | null {
  return useContext(LiveContext)?.state ?? null;
}

/** The time that what one sees is from while updates are paused, new every second; null while they are not. */
export function useHeldAt(): number | null {
  useNow();
  return useContext(LiveContext)?.heldAt() ?? null;
}

/** A server that is there has said something within this, in ms. */
const SILENT = 12_000;

/** The time for what goes on. It stands still with everything else while updates are paused, and soon after the server
 * was last heard: what nobody told of since then is no fault of those it is about. */
export function useShownNow(): number {
  const now = useNow();
  const heard = useContext(LiveContext)?.heardAt() ?? 0;
  const last = Math.max(heard, answeredAt());
  return useHeldAt() ?? (last > 0 ? Math.min(now, last + SILENT) : now);
}

/** For subjects no event is told of: how often to ask, in ms; never while the person has paused. */
export function usePolling(every: number): number | false {
  return useLive().paused ? false : every;
}
