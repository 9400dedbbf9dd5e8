import { useEffect, useMemo, useSyncExternalStore } from 'react';
import { useLive } from '@/live/LiveProvider';
import { Log } from '@/parts/log/Log';
import { LogSearch, type Match } from '@/parts/log/LogSearch';

/** The log of an execution, open while the page is seen: a hidden tab, or one held still, follows nothing. */
export function useLog(executionId: number): Log {
  const log = useMemo(() => new Log(executionId), [executionId]);
  const { paused } = useLive();
  useEffect(() => {
    const look = () => (document.hidden || paused ? log.stream.stop() : void log.open());
    if (!log.state.opened && paused) void log.open();
    look();
    document.addEventListener('visibilitychange', look);
    return () => {
      document.removeEventListener('visibilitychange', look);
      log.close();
    };
  }, [log, paused]);
  useSyncExternalStore(log.subscribe, () => log.state);
  useSyncExternalStore(log.book.subscribe, () => log.book.version);
  useSyncExternalStore(log.stream.subscribe, () => log.stream.state);
  return log;
}

/** A search in a log that ends with the page. */
export function useLogSearch(log: Log, limit: number, keep?: (match: Match) => boolean): LogSearch {
  const search = useMemo(() => new LogSearch((...asked) => log.search(...asked), limit, keep), [log, limit, keep]);
  useEffect(() => () => search.stop(), [search]);
  useSyncExternalStore(search.subscribe, () => search.state);
  return search;
}
