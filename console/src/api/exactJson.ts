// JSON whose numbers stay as they were written. A number of JavaScript has 53 bits: 1234567890123456789 read and written
// again is another number. So texts are laid out and taken apart by their own characters, and where a value is wanted, a
// number that would not come out as it went in is a Numeral.

/** A number literal that JavaScript would write otherwise: too many digits, 1e400, 0.1000, -0. */
export class Numeral {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }
}

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*|true|false|null|[{}[\],:]/g;

interface Token {
  text: string;
  at: number;
}

/** Only what is JSON has tokens; for everything else this throws. */
function tokensOf(text: string): Token[] {
  JSON.parse(text);
  return [...text.matchAll(TOKEN)].map((found) => ({ text: found[0], at: found.index }));
}

/** An object or a list with line breaks, for reading; every other text stays as it is. */
export function laidOut(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return indented(tokensOf(text).map((token) => token.text));
  } catch {
    return text;
  }
}

function indented(tokens: string[]): string {
  let [out, depth] = ['', 0];
  const line = () => `\n${'  '.repeat(depth)}`;
  for (const [place, token] of tokens.entries()) {
    const before = tokens[place - 1] ?? '';
    const closes = token === '}' || token === ']';
    const opened = before === '{' || before === '[';
    if (closes) depth -= 1;
    if ((closes && !opened) || (!closes && opened) || before === ',') out += line();
    out += token === ':' ? ': ' : token;
    if (token === '{' || token === '[') depth += 1;
  }
  return out;
}

/** The members of an object by name, each as the text it was written with; null when the text is no object. */
export function membersOf(text: string): Map<string, string> | null {
  let tokens: Token[];
  try {
    tokens = tokensOf(text);
  } catch {
    return null;
  }
  if (tokens[0]?.text !== '{') return null;
  const members = new Map<string, string>();
  let [depth, name, from] = [0, 0, 0];
  for (const [place, { text: token, at }] of tokens.entries()) {
    if (token === '}' || token === ']') depth -= 1;
    const ends = (depth === 1 && token === ',') || (depth === 0 && place > 1);
    if (ends) members.set(JSON.parse(tokens[name]?.text ?? '') as string, text.slice(from, at).trim());
    if (token === '{' || token === '[') depth += 1;
    if (depth === 1 && (ends || place === 0)) [name, from] = [place + 1, (tokens[place + 2]?.at ?? 0) + 1];
  }
  return members;
}

/** The text of an object from the texts of its members. */
export function objectText(members: ReadonlyMap<string, string>): string {
  return `{${[...members].map(([name, text]) => `${JSON.stringify(name)}:${text}`).join(',')}}`;
}

/** The value of a JSON text, with Numerals in it. Throws where it is none. */
export function exactValue(text: string): unknown {
  const tokens = tokensOf(text).map((token) => token.text);
  return valueAt(tokens, { place: 0 });
}

function valueAt(tokens: string[], at: { place: number }): unknown {
  const token = tokens[at.place++] ?? '';
  if (token === '[') {
    const items: unknown[] = [];
    while (tokens[at.place] !== ']') {
      items.push(valueAt(tokens, at));
      if (tokens[at.place] === ',') at.place += 1;
    }
    at.place += 1;
    return items;
  }
  if (token === '{') {
    const entries: [string, unknown][] = [];
    while (tokens[at.place] !== '}') {
      const name = JSON.parse(tokens[at.place] ?? '') as string;
      at.place += 2;
      entries.push([name, valueAt(tokens, at)]);
      if (tokens[at.place] === ',') at.place += 1;
    }
    at.place += 1;
    return Object.fromEntries(entries);
  }
  const value: unknown = JSON.parse(token);
  return typeof value === 'number' && String(value) !== token ? new Numeral(token) : value;
}

/** Where a member of an object is given twice, of which only the last would count; null where none is. */
export function givenTwice(text: string): (string | number)[] | null {
  const open: { names: Set<string> | null; at: string | number; named: boolean }[] = [];
  for (const { text: token } of tokensOf(text)) {
    const inside = open.at(-1);
    if (token === '{') open.push({ names: new Set(), at: '', named: false });
    else if (token === '[') open.push({ names: null, at: 0, named: true });
    else if (token === '}' || token === ']') open.pop();
    else if (token === ',' && inside) {
      inside.named = inside.names === null;
      if (typeof inside.at === 'number') inside.at += 1;
    } else if (token.startsWith('"') && inside?.names && !inside.named) {
      inside.at = JSON.parse(token) as string;
      inside.named = true;
      if (inside.names.has(inside.at)) return open.map(({ at }) => at);
      inside.names.add(inside.at);
    }
  }
  return null;
}

/** The JSON text of such a value. */
export function exactText(value: unknown): string {
  if (value instanceof Numeral) return value.text;
  if (Array.isArray(value)) return `[${value.map(exactText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return objectText(new Map(Object.entries(value).map(([name, one]) => [name, exactText(one)])));
}

/** Whether a number literal stands for a whole number, whatever its size. */
export function isWhole(literal: string): boolean {
  const [mantissa = '', exponent = '0'] = literal.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.');
  const digits = `${whole}${fraction}`;
  const significant = digits.replace(/0+$/, '');
  if (significant === '') return true;
  return fraction.length - (digits.length - significant.length) <= Number(exponent);
}

/** Whether a text is one number as JSON writes it. */
export function isNumeral(text: string): boolean {
  return /^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(text);
}

export const INTEGER = /^-?\d+$/;

/** Whether one number literal stands for less than another: whole ones exactly, however long they are. */
export function isLess(one: string, other: string): boolean {
  const exact = INTEGER.test(one) && INTEGER.test(other);
  return exact ? BigInt(one) < BigInt(other) : Number(one) < Number(other);
}
