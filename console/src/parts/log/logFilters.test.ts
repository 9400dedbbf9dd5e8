import { describe, expect, it } from 'vitest';
import { askedBy, levelsIn, queryIn } from '@/parts/log/logFilters';
import { changed, filtersIn } from '@/parts/useUrlFilters';

const NAMES = ['q', 'regex', 'case', 'level'] as const;
const through = (search: string) => filtersIn(new URLSearchParams(search), NAMES);

describe('the filters of a log in the address', () => {
  it('are the search, as it was asked for', () => {
    for (const query of [
      { text: 'a & b=c', regex: false, ignoreCase: true },
      { text: '^a+', regex: true, ignoreCase: false },
    ]) {
      const address = changed(new URLSearchParams('tab=log&regex=1'), askedBy(query)).toString();
      expect(address).toContain('tab=log');
      expect(queryIn(through(address))).toEqual(query);
    }
    expect(changed(new URLSearchParams('q=a&regex=1&case=1'), askedBy(null)).toString()).toBe('');
    expect(queryIn(through('regex=1'))).toBeNull();
  });

  it('are the levels, and what is none is told', () => {
    expect(levelsIn(through('level=warning,error'))).toEqual(['error', 'warning']);
    expect(levelsIn(through(''))).toEqual([]);
    expect(levelsIn(through('level=error,bogus'))).toBeUndefined();
  });
});
