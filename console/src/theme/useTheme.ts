import { useEffect, useSyncExternalStore } from 'react';
import { usePreference } from '@/app/preferences';
import { applyTokens, type ThemeName } from '@/theme/tokens';

const dark = () => window.matchMedia('(prefers-color-scheme: dark)');

function subscribe(changed: () => void): () => void {
  const query = dark();
  query.addEventListener('change', changed);
  return () => query.removeEventListener('change', changed);
}

/** The theme in use: what the person chose, or what the system says. */
export function useTheme(): ThemeName {
  const [chosen] = usePreference('theme');
  const system = useSyncExternalStore(subscribe, () => (dark().matches ? 'dark' : 'light'));
  const theme = chosen === 'system' ? system : chosen;
  useEffect(() => applyTokens(theme, document.documentElement), [theme]);
  return theme;
}
