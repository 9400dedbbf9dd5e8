import { describe, expect, it } from 'vitest';
import { foldsIn } from '@/parts/log/folds';

const PYTHON = ['Traceback (most recent call last):', '  File "a.py", line 1', '    f()', 'ValueError: no'];

describe('tracebacks', () => {
  it('fold between their head and their exception', () => {
    expect(foldsIn(10, ['before', ...PYTHON, 'after'])).toEqual([{ head: 11, first: 12, last: 13 }]);
  });

  it('that follow from each other are one', () => {
    const joined = [
      ...PYTHON,
      '',
      'During handling of the above exception, another exception occurred:',
      '',
      ...PYTHON,
      'x',
    ];
    expect(foldsIn(1, joined)).toEqual([{ head: 1, first: 2, last: 10 }]);
  });

  it('fold only when their end is known', () => {
    expect(foldsIn(1, PYTHON.slice(0, 3))).toEqual([]);
    expect(foldsIn(1, [...PYTHON.slice(0, 2), undefined, ...PYTHON.slice(2)])).toEqual([]);
  });

  it('of Java are the lines that say where', () => {
    const java = [
      'java.lang.Error: no',
      '\tat a.B.c(B.java:1)',
      '\tat a.B.d(B.java:2)',
      'Caused by: x',
      '\tat e.F.g(F.java:3)',
    ];
    expect(foldsIn(1, ['x', ...java, 'y'])).toEqual([{ head: 2, first: 3, last: 6 }]);
  });

  it('of one line, or none, do not', () => {
    expect(foldsIn(1, ['Traceback (most recent call last):', 'ValueError'])).toEqual([]);
    expect(foldsIn(1, ['a', '  b', 'c'])).toEqual([]);
    expect(foldsIn(1, [])).toEqual([]);
  });
});
