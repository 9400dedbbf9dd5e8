// Taking a log along: as clean text for the clipboard, or as a file.

import { copyText } from '@/parts/copyText';
import { plain } from '@/parts/log/ansi';
import type { Log, Page } from '@/parts/log/Log';
import { textsOf } from '@/parts/log/LogBook';
import type { Match, Query, SearchPart } from '@/parts/log/LogSearch';
import { type Level, told } from '@/parts/log/lines';
import { within } from '@/parts/log/within';
import { saveText } from '@/parts/saveText';

export const COPY_LIMIT = 10_000;
export const SAVE_LIMIT = 200_000;

/** A line without its time and its colours. */
export function clean(text: string): string {
  return plain(told(text).body);
}

/** Lines from `first` on, at most as many as a clipboard should get. */
export async function linesFrom(
  read: (from: number, limit: number) => Promise<Page>,
  first: number,
  last: number,
): Promise<string[]> {
  const texts: string[] = [];
  const end = Math.min(last, first + COPY_LIMIT - 1);
  for (let from = first; from <= end; ) {
    const page = await read(from, Math.min(1_000, end - from + 1));
    if (page.to_line < page.from_line) break;
    texts.push(...textsOf(page));
    from = page.to_line + 1;
  }
  return texts;
}

/** Everything a search finds, up to a limit. */
export async function allMatches(
  search: (query: Query, from: number, limit: number, signal: AbortSignal) => Promise<SearchPart>,
  query: Query,
): Promise<Match[]> {
  const found: Match[] = [];
  const { signal } = new AbortController();
  for (let from = 1; found.length < SAVE_LIMIT; ) {
    const part = await search(query, from, 1_000, signal);
    found.push(...part.matches);
    if (part.end || part.to_line < from) break;
    from = part.to_line + 1;
  }
  return found;
}

/** Put clean lines on the clipboard, from `first` on where there are too many; how many. */
export async function copyLines(
  log: Log,
  levels: readonly Level[],
  query: Query | null,
  first: number | null,
): Promise<number> {
  const texts =
    levels.length > 0
      ? (await matchesShown(log, levels, query)).map((match) => match.text)
      : await linesFrom(
          (from, limit) => log.page(from, limit),
          log.book.last <= COPY_LIMIT ? 1 : (first ?? 1),
          log.book.last,
        );
  if (!(await copyText(texts.map(clean).join('\n')))) throw new Error('The clipboard took nothing.');
  return texts.length;
}

/** Keep what a search or the levels leave as a file. */
export async function saveMatches(log: Log, levels: readonly Level[], query: Query | null): Promise<void> {
  const matches = await matchesShown(log, levels, query);
  saveText(`execution-${log.id}-part.log`, matches.map((match) => `${match.text}\n`).join(''));
}

async function matchesShown(log: Log, levels: readonly Level[], query: Query | null): Promise<Match[]> {
  const wanted = within(query, levels);
  return wanted ? allMatches((...asked) => log.search(...asked), wanted) : [];
}
