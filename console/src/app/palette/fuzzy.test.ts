import { describe, expect, it } from 'vitest';
import { best, match } from '@/app/palette/fuzzy';

const JOBS = ['Collect prices of all suppliers', 'Greet the customers', 'Nightly report', 'Rebuild the search index'];
const found = (query: string) => best(query, JOBS, (job) => job, 10);

describe('a few letters', () => {
  it('find what has them in order', () => {
    expect(found('nigrep')).toEqual(['Nightly report']);
    expect(found('xyz')).toEqual([]);
    expect(match('ba', 'ab')).toBeNull();
  });

  it('are best where words begin and letters stand together', () => {
    expect(found('rep')[0]).toBe('Nightly report');
    expect(best('gtc', ['Forget the act', 'Greet the customers'], (one) => one, 2)[0]).toBe('Greet the customers');
  });

  it('need neither case, accents nor the right spaces', () => {
    expect(match('EXECU', 'Exécutions')?.places).toEqual([0, 1, 2, 3, 4]);
    expect(found('the  search')[0]).toBe('Rebuild the search index');
    expect(match('执行', '执行记录')?.places).toEqual([0, 1]);
  });

  it('say which letters were found', () => {
    expect(match('nr', 'Nightly report')?.places).toEqual([0, 8]);
  });

  it('find everything, in its order, when there are none', () => {
    expect(found(' ')).toEqual(JOBS);
    expect(best('', JOBS, (job) => job, 2)).toHaveLength(2);
  });
});
