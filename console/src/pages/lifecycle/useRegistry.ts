// The registry's own socket, for as long as the page is open. It goes on from the last event it heard; what beats are
// concerned, lists are asked for now and then.

import { useQuery } from '@tanstack/react-query';
import { useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { socketAddress } from '@/api/base';
import { api, got, sessionEnded } from '@/api/client';
import { serverNow } from '@/api/serverClock';
import { isCut, LiveConnection, type LiveState } from '@/live/connection';
import { useLive, usePolling } from '@/live/LiveProvider';
import { ASK_EVERY, heard, type Kind, listed, NOTHING, type Registry } from '@/pages/lifecycle/registry';

const SEQ_HEADER = 'ORTH-SEQ';

export interface RegistryLive {
  registry: Registry;
  state: LiveState;
  /** Why the lists could not be read, if they could not. */
  error: unknown;
}

export function useRegistry(): RegistryLive {
  const [registry, setRegistry] = useState(NOTHING);
  const state = useSocket(registry.seq, (message) => setRegistry((before) => heard(before, message, serverNow())));
  const orchestrators = useList('orchestrator', setRegistry);
  const agents = useList('agent', setRegistry);
  return { registry, state, error: registry.seq === null ? (orchestrators ?? agents) : null };
}

function useSocket(seq: number | null, said: (message: unknown) => void): LiveState {
  const { paused, state } = useLive();
  const away = isCut(state);
  const last = useRef(seq);
  last.current = seq;
  const tell = useRef(said);
  tell.current = said;
  const connection = useMemo(
    () =>
      new LiveConnection({
        open: () => opened(last.current),
        now: serverNow,
        chance: () => Math.random(),
        changed: () => {},
        refused: sessionEnded,
        said: (message) => tell.current(message),
        beatless: true,
      }),
    [],
  );
  useEffect(() => {
    connection.start();
    return () => connection.stop();
  }, [connection]);
  useEffect(() => {
    // It has no beats of its own to be missed: when the page's line is cut this one may be dead too, and begins anew.
    const look = () => connection.hide(document.hidden || away);
    look();
    document.addEventListener('visibilitychange', look);
    return () => document.removeEventListener('visibilitychange', look);
  }, [connection, away]);
  useEffect(() => connection.pause(paused), [connection, paused]);
  return useSyncExternalStore(connection.subscribe, () => connection.state);
}

/** A socket that tells everything after event `seq`; without one it begins with everybody who is there. */
function opened(seq: number | null): WebSocket {
  const socket = new WebSocket(socketAddress(seq === null ? '/ws' : `/ws?since=${seq}`));
  if (seq === null) socket.addEventListener('open', () => socket.send('{"type":"snapshot"}'));
  return socket;
}

const PATHS = { orchestrator: '/api/orchestrators', agent: '/api/agents' } as const;

function useList(kind: Kind, change: (by: (before: Registry) => Registry) => void): unknown {
  const list = useQuery({
    queryKey: ['lifecycle', kind],
    queryFn: async () => {
      const asking = api.GET(PATHS[kind]);
      const items = await got(asking);
      return { items, seq: Number((await asking).response.headers.get(SEQ_HEADER)), answeredAt: serverNow() };
    },
    refetchInterval: usePolling(ASK_EVERY),
  });
  const { data } = list;
  useEffect(() => {
    if (data) change((before) => listed(before, kind, data.items, data.seq, data.answeredAt));
  }, [data, kind, change]);
  return list.isError && !data ? list.error : null;
}
