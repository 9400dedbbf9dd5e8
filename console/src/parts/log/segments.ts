// A line as the pieces it is shown in: styles of terminals, links, and what a search found.

import { type Span, type Style, spansOf, uncoloured, visible } from '@/parts/log/ansi';
import type { Place } from '@/parts/log/LogSearch';

export interface Segment {
  text: string;
  style: Style;
  href?: string;
  found?: boolean;
}

const LINK = /https?:\/\/[^\s<>"'`]+/g;
const WEB = /^https?:\/\/[^\s<>"'`]+$/;
const TRAILING = /[.,;:!?]+$/;
const CLOSING: Record<string, string> = { ')': '(', ']': '[', '}': '{' };

export interface Range {
  from: number;
  to: number;
}

/** `found`: what is looked for, or where it is. */
export function segmentsOf(line: string, found: RegExp | Range | null): Segment[] {
  const spans = spansOf(line);
  const text = spans.map((span) => span.text).join('');
  const links = [...text.matchAll(LINK)].map(({ index, 0: raw }) => {
    const href = addressIn(raw);
    return { from: index, to: index + href.length, href };
  });
  const founds = found instanceof RegExp ? rangesOf(text, found) : found ? [found] : [];
  return divided(spans, text.length, [...links, ...targetsOf(spans)], founds);
}

/** Without the marks of the sentence around it. A bracket belongs to an address in which it was opened. */
function addressIn(raw: string): string {
  const address = raw.replace(TRAILING, '');
  const opening = CLOSING[address.at(-1) ?? ''];
  if (opening === undefined) return address;
  const count = (mark: string) => address.split(mark).length - 1;
  return count(address.at(-1) ?? '') > count(opening) ? addressIn(address.slice(0, -1)) : address;
}

/**
 * What a terminal would make links of: only to the web, and not where the text names an address, which leads there, or
 * looks like one of another host.
 */
function targetsOf(spans: Span[]): (Range & { href: string })[] {
  let at = 0;
  return joined(spans).flatMap(({ text, target }) => {
    const from = at;
    at += text.length;
    if (!target || text.search(LINK) >= 0 || pretends(text, target) || !WEB.test(target) || visible(target) !== target)
      return [];
    return [{ from, to: at, href: target }];
  });
}

/** The text of a link is one, however many colours it has. */
function joined(spans: Span[]): Pick<Span, 'text' | 'target'>[] {
  const found: Pick<Span, 'text' | 'target'>[] = [];
  for (const { text, target } of spans) {
    const last = found.at(-1);
    if (last && target && last.target === target) last.text += text;
    else found.push({ text, ...(target && { target }) });
  }
  return found;
}

/** Whatever has a dot inside it may be read as a host; other dots are read like one. */
const HOST = /[\p{L}\p{N}-]+(?:[.\u3002\uff0e\uff61][\p{L}\p{N}-]+)+/gu;
/** Nobody writes longer links. */
const LONGEST = 500;

function pretends(text: string, target: string): boolean {
  if (text.length > LONGEST) return true;
  const host = URL.canParse(target) ? new URL(target).hostname : '';
  return [...text.matchAll(HOST)].some(([named]) => named.toLowerCase() !== host);
}

/** Where it is found; an expression that matches nothing at all is not found anywhere. */
export function rangesOf(text: string, search: RegExp): Range[] {
  const found: Range[] = [];
  for (const { index, 0: match } of text.matchAll(search)) {
    if (match) found.push({ from: index, to: index + match.length });
    if (found.length >= 200) break;
  }
  return found;
}

function divided(spans: Span[], length: number, links: (Range & { href: string })[], founds: Range[]): Segment[] {
  let at = 0;
  const ends = spans.map((span) => {
    at += span.text.length;
    return at;
  });
  const cuts = [...new Set([0, length, ...ends, ...[...links, ...founds].flatMap(({ from, to }) => [from, to])])];
  cuts.sort((one, other) => one - other);
  const text = spans.map((span) => span.text).join('');
  const segments: Segment[] = [];
  let span = 0;
  for (let index = 0; index + 1 < cuts.length; index++) {
    const [from, to] = [cuts[index] ?? 0, cuts[index + 1] ?? 0];
    while ((ends[span] ?? length) <= from) span += 1;
    const inside = (range: Range) => range.from <= from && to <= range.to;
    const href = links.find(inside)?.href;
    segments.push({
      text: text.slice(from, to),
      style: spans[span]?.style ?? {},
      ...(href && { href }),
      ...(founds.some(inside) && { found: true }),
    });
  }
  return segments;
}

/** Where something is that the server found in a line: in what is shown of it behind its time. */
export function rangeIn(line: string, body: string, { start, end }: Place): Range {
  const characters = [...uncoloured(line)];
  const time = line.length - body.length;
  const shown = (from: number, to: number) => visible(characters.slice(from, to).join('')).length;
  const first = Math.max(time, start);
  const from = shown(time, first);
  return { from, to: from + shown(first, Math.max(first, end)) };
}

/** What is looked for, letter by letter. Where an expression is found only the server says: there it cannot take for
 * ever, as some do. */
export function searchFor(text: string, ignoreCase: boolean): RegExp {
  return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), ignoreCase ? 'gi' : 'g');
}
