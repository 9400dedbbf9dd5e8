// A search in lines of some levels: the server looks for both at once, and so answers only with lines that are shown.

import type { Query } from '@/parts/log/LogSearch';
import { type Level, levelExpression } from '@/parts/log/lines';
import { searchFor } from '@/parts/log/segments';

/** So long may be what the server is asked for. */
const LONGEST = 500;

/** What finds the lines that are wanted; what it finds too much, `levelOf` tells. Null where every line is. */
export function within(query: Query | null, levels: readonly Level[]): Query | null {
  if (levels.length === 0) return query;
  if (!query) return { text: levelExpression(levels), regex: true, ignoreCase: false };
  if (query.regex) return query; // it stays as it was written: not every one can be a part of another
  const words = searchFor(query.text, false, false)?.source ?? '';
  const text = `^(?=.*?(?${query.ignoreCase ? 'i' : ''}:${words}))(?=.*?(?:${levelExpression(levels)}))`;
  return text.length > LONGEST ? query : { text, regex: true, ignoreCase: false };
}
