// Every colour of the console, once for each theme. Components use the CSS variables made from these (--orth-…) or the
// Ant Design tokens derived from them, never a colour of their own; theme/contrast.test.ts holds them to WCAG AA.

export type ThemeName = 'light' | 'dark';

export interface Surfaces {
  page: string;
  surface: string;
  raised: string;
  hover: string;
  border: string;
  text: string;
  muted: string;
  primary: string;
  onPrimary: string;
  tooltip: string;
  onTooltip: string;
}

export interface StatusColours {
  gray: string;
  blue: string;
  green: string;
  red: string;
  orange: string;
  teal: string;
}

export interface Tokens {
  surfaces: Surfaces;
  status: StatusColours;
}

export const TINT = 0.1;
/** How much of its colour the ground of a filled tag has. */

export const tokens: Record<ThemeName, Tokens> = {
  light: {
    surfaces: {
      page: '#f6f7f9',
      surface: '#ffffff',
      raised: '#ffffff',
      hover: '#f0f2f5',
      border: '#dfe3e8',
      text: '#1c2128',
      muted: '#57606a',
      primary: '#4338ca',
      onPrimary: '#ffffff',
      tooltip: '#24292f',
      onTooltip: '#ffffff',
    },
    status: {
      gray: '#57606a',
      blue: '#0a56e8',
      green: '#177231',
      red: '#b42318',
      orange: '#9a4b00',
      teal: '#0e7068',
    },
  },
  dark: {
    surfaces: {
      page: '#0d1117',
      surface: '#151a21',
      raised: '#1b212a',
      hover: '#212833',
      border: '#2b333e',
      text: '#e6eaf0',
      muted: '#9aa4af',
      primary: '#a5a8ff',
      onPrimary: '#12141c',
      tooltip: '#343d4a',
      onTooltip: '#e6eaf0',
    },
    status: {
      gray: '#9aa4af',
      blue: '#6ea8ff',
      green: '#4ac26b',
      red: '#ff7b72',
      orange: '#f0a35e',
      teal: '#4fd1c5',
    },
  },
};

/** Write the tokens of a theme where the stylesheet finds them. */
export function applyTokens(theme: ThemeName, root: HTMLElement): void {
  const { surfaces, status } = tokens[theme];
  for (const [name, value] of Object.entries({ ...surfaces, ...status })) {
    root.style.setProperty(`--orth-${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`, value);
  }
  root.dataset.theme = theme;
  root.style.colorScheme = theme;
}
