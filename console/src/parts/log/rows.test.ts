import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { grown, LINE_HEIGHT, PAINTED_EVENLY, Rows, WINDOW_LINES, windowAround } from '@/parts/log/rows';

describe('rows of a log', () => {
  it('stand evenly to the last of a million', () => {
    expect(WINDOW_LINES).toBeGreaterThan(1_000_000);
    expect(WINDOW_LINES * LINE_HEIGHT).toBeLessThan(PAINTED_EVENLY);
    const style = readFileSync(join(import.meta.dirname, 'log.css'), 'utf8');
    expect(/\.log-lines {[^}]*line-height: (\d+)px/.exec(style)?.[1]).toBe(String(LINE_HEIGHT));
    expect(/\.log-row {[^}]*min-height: (\d+)px/.exec(style)?.[1]).toBe(String(LINE_HEIGHT));
  });

  it('are its lines, without the hidden ones', () => {
    const rows = new Rows({ first: 1, last: 10 }, [
      { first: 7, last: 8 },
      { first: 3, last: 5 },
    ]);
    const lines = Array.from({ length: rows.count }, (_, row) => rows.lineAt(row));
    expect(lines).toEqual([1, 2, 6, 9, 10]);
    expect(lines.map((line) => rows.rowOf(line))).toEqual([0, 1, 2, 3, 4]);
    expect([3, 4, 5].map((line) => rows.rowOf(line))).toEqual([1, 1, 1]);
  });

  it('begin where their window does, and no range counts twice', () => {
    const rows = new Rows({ first: 100, last: 109 }, [
      { first: 90, last: 101 },
      { first: 101, last: 103 },
      { first: 200, last: 300 },
    ]);
    expect(rows.count).toBe(6);
    expect([rows.lineAt(0), rows.rowOf(104), rows.rowOf(1), rows.rowOf(500)]).toEqual([104, 0, 0, 5]);
  });

  it('of nothing are none', () => {
    expect(new Rows({ first: 1, last: 0 }, []).count).toBe(0);
  });
});

describe('the window of a long log', () => {
  it('is all of it where that fits', () => {
    expect(windowAround(5, 10, 10)).toEqual({ first: 1, last: 10 });
  });

  it('holds the line that was asked for, and ends with the log', () => {
    expect(windowAround(1, 100, 10)).toEqual({ first: 1, last: 10 });
    expect(windowAround(50, 100, 10)).toEqual({ first: 45, last: 54 });
    expect(windowAround(100, 100, 10)).toEqual({ first: 91, last: 100 });
  });

  it('grows until it is full', () => {
    expect(grown({ first: 1, last: 5 }, 8, 10)).toEqual({ first: 1, last: 8 });
    expect(grown({ first: 1, last: 5 }, 80, 10)).toEqual({ first: 1, last: 10 });
  });
});
