import { useEffect } from 'react';
import { usePreference } from '@/app/preferences';
import { applyTokens, type ThemeName } from '@/theme/tokens';
import { useMedia } from '@/theme/useMedia';

const DARK = '(prefers-color-scheme: dark)';
const STILL = '(prefers-reduced-motion: reduce)';

/** Whether the system asks for less motion. */
export function useStillness(): boolean {
  return useMedia(STILL);
}

/** The theme in use: what the person chose, or what the system says. */
export function useTheme(): ThemeName {
  const [chosen] = usePreference('theme');
  const system = useMedia(DARK) ? 'dark' : 'light';
  const theme = chosen === 'system' ? system : chosen;
  useEffect(() => applyTokens(theme, document.documentElement), [theme]);
  return theme;
}
