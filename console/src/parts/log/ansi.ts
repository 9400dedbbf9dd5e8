// What terminals would do with a line, as far as it is harmless: colours and weights become styles; every other escape
// and control character becomes something to see. Nothing in here makes markup.

export const COLOURS = ['black', 'red', 'green', 'yellow', 'blue', 'magenta', 'cyan', 'white'] as const;
export type Colour = (typeof COLOURS)[number];

export interface Style {
  fg?: Colour;
  bg?: Colour;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  strike?: boolean;
  inverse?: boolean;
}

export interface Span {
  text: string;
  style: Style;
  /** Where a terminal would lead whoever clicks on it. */
  target?: string;
}

/** A style, or the beginning or the end of a link (OSC 8), of which only the text is shown. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: escapes begin with one
const HARMLESS = /\u001b\[([0-9;:]*)m|\u001b\]8;[^;\u0007\u001b]*;([^\u0007\u001b]*)(?:\u0007|\u001b\\)/g;

/** The parts of a line, each with how it is written. A style lasts to the end of its line and no further. */
export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let style: Style = {};
  let target = '';
  let at = 0;
  const add = (text: string) => {
    if (text) spans.push({ text: visible(text), style, ...(target && { target }) });
  };
  for (const found of line.matchAll(HARMLESS)) {
    add(line.slice(at, found.index));
    if (found[2] === undefined) style = styled(style, (found[1] ?? '').split(/[;:]/).map(Number));
    else target = found[2];
    at = found.index + found[0].length;
  }
  add(line.slice(at));
  return spans;
}

/** A line without its colours and the targets of its links: so the server searches it (`shown.py`). */
export function uncoloured(line: string): string {
  return line.replace(HARMLESS, '');
}

/** The same as it is shown. */
export function plain(line: string): string {
  return visible(uncoloured(line));
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters it is about
const UNSEEN = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Control characters, and those that turn or hide text, spelled out as the command line does. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (one) => {
    const code = one.charCodeAt(0).toString(16);
    return code.length > 2 ? `\\u${code.padStart(4, '0')}` : `\\x${code.padStart(2, '0')}`;
  });
}

/** The same of a text of several lines, which stay lines. */
export function visibleLines(text: string): string {
  return text.split(/\r?\n/).map(visible).join('\n');
}

const ON: Record<number, Style> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
};
const OFF: Record<number, (keyof Style)[]> = {
  22: ['bold', 'dim'],
  23: ['italic'],
  24: ['underline'],
  27: ['inverse'],
  29: ['strike'],
  39: ['fg'],
  49: ['bg'],
};

function styled(before: Style, codes: number[]): Style {
  let style = { ...before };
  for (let index = 0; index < codes.length; index++) {
    const code = codes[index] ?? 0;
    if (code === 0) style = {};
    else if (ON[code]) style = { ...style, ...ON[code] };
    else if (OFF[code]) for (const name of OFF[code]) delete style[name];
    else if (code === 38 || code === 48) {
      const [colour, used] = extended(codes.slice(index + 1));
      if (colour) style[code === 38 ? 'fg' : 'bg'] = colour;
      index += used;
    } else {
      const colour = COLOURS[code % 10];
      const place = Math.floor(code / 10);
      if (colour && (place === 3 || place === 9)) style.fg = colour;
      if (colour && (place === 4 || place === 10)) style.bg = colour;
    }
  }
  return style;
}

/** The nearest of our colours, which can be read in both themes, and how many numbers it was written with. */
function extended(codes: number[]): [Colour | undefined, number] {
  const [kind, first = 0, second = 0, third = 0] = codes;
  if (kind === 2) return [nearest(first, second, third), 4];
  if (kind !== 5) return [undefined, codes.length];
  if (first < 16) return [COLOURS[first % 8], 2];
  if (first >= 232) return [first < 244 ? 'black' : 'white', 2];
  const level = (step: number) => Math.round((step % 6) * 51);
  return [nearest(level(Math.floor((first - 16) / 36)), level(Math.floor((first - 16) / 6)), level(first - 16)), 2];
}

function nearest(red: number, green: number, blue: number): Colour | undefined {
  const most = Math.max(red, green, blue);
  if (most - Math.min(red, green, blue) < 40) return most < 128 ? 'black' : 'white';
  const bit = (value: number) => (value > most * 0.6 ? 1 : 0);
  return COLOURS[bit(red) + 2 * bit(green) + 4 * bit(blue)];
}
