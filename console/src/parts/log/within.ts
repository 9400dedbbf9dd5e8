// A search in lines of some levels: the server looks for both at once, and so answers only with lines that are shown.

import type { Query } from '@/parts/log/LogSearch';
import type { Level } from '@/parts/log/lines';

/** What finds the lines that are wanted. Null where every line is. */
export function within(query: Query | null, levels: readonly Level[]): Query | null {
  return levels.length === 0 ? query : { text: '', regex: false, ignoreCase: false, ...query, levels };
}
