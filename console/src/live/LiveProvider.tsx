// Live changes go into the query cache: a subject that changed is asked for again, by those pages that show it.

import { useQueryClient } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import { socketAddress } from '@/api/base';
import { sessionEnded } from '@/api/client';
import { LiveConnection, type LiveState } from '@/live/connection';

interface Live {
  state: LiveState;
  heardAt: number;
  paused: boolean;
  setPaused: (paused: boolean) => void;
  retryNow: () => void;
}

const LiveContext = createContext<Live | null>(null);

export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [paused, setPaused] = useState(false);
  const connection = useMemo(
    () =>
      new LiveConnection({
        open: () => new WebSocket(socketAddress('/api/v1/changes')),
        now: () => Date.now(),
        chance: () => Math.random(),
        changed: (subjects) => {
          if (subjects === null) void queries.invalidateQueries({ predicate: (one) => one.queryKey[0] !== 'session' });
          for (const subject of subjects ?? []) void queries.invalidateQueries({ queryKey: [subject] });
        },
        refused: sessionEnded,
      }),
    [queries],
  );
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
  const heardAt = useSyncExternalStore(connection.subscribe, () => connection.heardAt);
  const live = useMemo(
    () => ({ state, heardAt, paused, setPaused, retryNow: () => connection.retryNow() }),
    [state, heardAt, paused, connection],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}

export function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error('useLive needs a LiveProvider around it.');
  return live;
}

/** For subjects no event is told of: how often to ask, in ms; never while the person has paused. */
export function usePolling(every: number): number | false {
  return useLive().paused ? false : every;
}
