import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { useLive } from '@/live/LiveProvider';
import { Log } from '@/parts/log/Log';
import { LogSearch } from '@/parts/log/LogSearch';

/** The log of an execution, open while the page is seen: a hidden tab, or one held still, follows nothing. */
export function useLog(executionId: number): Log {
  const log = useMemo(() => new Log(executionId), [executionId]);
  const { paused } = useLive();
  useEffect(() => follow([log], paused), [log, paused]);
  useSyncExternalStore(log.subscribe, () => log.state);
  useSyncExternalStore(log.book.subscribe, () => log.book.version);
  useSyncExternalStore(log.stream.subscribe, () => log.stream.state);
  return log;
}

/** The logs of several executions, each as `useLog` has one. */
export function useLogs(executionIds: readonly number[]): Log[] {
  const ids = executionIds.join(' ');
  const logs = useMemo(() => (ids === '' ? [] : ids.split(' ').map((id) => new Log(Number(id)))), [ids]);
  const { paused } = useLive();
  useEffect(() => follow(logs, paused), [logs, paused]);
  const subscribe = useCallback(
    (listener: () => void) => {
      const ends = logs.flatMap((log) => [log.subscribe(listener), log.book.subscribe(listener)]);
      return () => {
        for (const end of ends) end();
      };
    },
    [logs],
  );
  useSyncExternalStore(subscribe, () => logs.map(({ book, state }) => `${book.version} ${state.opened}`).join());
  return logs;
}

function follow(logs: readonly Log[], paused: boolean): () => void {
  const look = () => {
    for (const log of logs) {
      if (document.hidden || paused) log.stream.stop();
      else void log.open();
    }
  };
  for (const log of logs) if (!log.state.opened && paused) void log.open();
  look();
  document.addEventListener('visibilitychange', look);
  return () => {
    document.removeEventListener('visibilitychange', look);
    for (const log of logs) log.close();
  };
}

/** A search in a log that ends with the page. */
export function useLogSearch(log: Log, limit: number): LogSearch {
  const search = useMemo(() => new LogSearch((...asked) => log.search(...asked), limit), [log, limit]);
  useEffect(() => () => search.stop(), [search]);
  useSyncExternalStore(search.subscribe, () => search.state);
  return search;
}
