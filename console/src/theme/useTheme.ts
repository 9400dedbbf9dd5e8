import { useCallback, useEffect, useMemo, useSyncExternalStore } from 'react';
import { usePreference } from '@/app/preferences';
import { applyTokens, type ThemeName } from '@/theme/tokens';

const DARK = '(prefers-color-scheme: dark)';
const STILL = '(prefers-reduced-motion: reduce)';

function useSystem(asked: string): boolean {
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

/** Whether the system asks for less motion. */
export function useStillness(): boolean {
  return useSystem(STILL);
}

/** The theme in use: what the person chose, or what the system says. */
export function useTheme(): ThemeName {
  const [chosen] = usePreference('theme');
  const system = useSystem(DARK) ? 'dark' : 'light';
  const theme = chosen === 'system' ? system : chosen;
  useEffect(() => applyTokens(theme, document.documentElement), [theme]);
  return theme;
}
