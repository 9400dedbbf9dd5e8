import { useCallback, useMemo, useSyncExternalStore } from 'react';

/** Whether a media query holds, now and after every change. */
export function useMedia(asked: string): boolean {
  const query = useMemo(() => window.matchMedia(asked), [asked]);
  const subscribe = useCallback(
    (changed: () => void) => {
      query.addEventListener('change', changed);
      return () => query.removeEventListener('change', changed);
    },
    [query],
  );
  return useSyncExternalStore(subscribe, () => query.matches);
}
