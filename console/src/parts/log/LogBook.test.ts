import { describe, expect, it } from 'vitest';
import { CHUNK, KEPT_CHARACTERS, KEPT_CHUNKS, LogBook, textsOf } from '@/parts/log/LogBook';

function page(from: number, ...texts: string[]) {
  return { from_line: from, to_line: from + texts.length - 1, content: texts.join('\n') };
}

function filled(from: number, count: number) {
  return page(from, ...Array.from({ length: count }, (_, index) => `line ${from + index}`));
}

describe('the end of a log', () => {
  it('is its last lines, as far as they are here', () => {
    const book = new LogBook();
    expect(book.tail(3)).toEqual({ from: 1, texts: [] });
    book.put({ from_line: 1, to_line: 2, content: 'one\ntwo' });
    book.put({ from_line: 5, to_line: 6, content: 'five\nsix' });
    expect(book.tail(9)).toEqual({ from: 5, texts: ['five', 'six'] });
    book.put({ from_line: 3, to_line: 4, content: 'three\nfour' });
    expect(book.tail(3)).toEqual({ from: 4, texts: ['four', 'five', 'six'] });
  });
});

describe('a book', () => {
  it('knows what it was given, and wants what it was not', () => {
    const book = new LogBook();
    book.put(filled(901, 100));
    expect(book.last).toBe(1000);
    expect(book.line(950)?.text).toBe('line 950');
    expect(book.wanted(890, 950)).toEqual({ from: 890, limit: 111 });
    expect(book.wanted(901, 1000)).toBeNull();
    expect(book.wanted(990, 2000)).toBeNull();
  });

  it('keeps the latest it was given, however long the log is', () => {
    const book = new LogBook();
    for (let chunk = 0; chunk < 3 * KEPT_CHUNKS; chunk++) book.put(filled(chunk * CHUNK + 1, CHUNK));
    expect(book.kept).toBe(KEPT_CHUNKS);
    expect(book.line(1)).toBeUndefined();
    expect(book.line(book.last)?.text).toBe(`line ${book.last}`);
  });

  it('keeps what is read in the place of what is not', () => {
    const book = new LogBook();
    book.put(filled(1, CHUNK));
    for (let chunk = 1; chunk < KEPT_CHUNKS + 5; chunk++) {
      book.touch(1, 10);
      book.put(filled(chunk * CHUNK + 1, CHUNK));
    }
    expect(book.line(1)?.text).toBe('line 1');
  });

  it('keeps the beginning of a very long line, and how long it is', () => {
    const book = new LogBook();
    book.put(page(1, 'x'.repeat(1_000_000)));
    expect(book.line(1)?.text).toHaveLength(KEPT_CHARACTERS);
    expect(book.line(1)?.length).toBe(1_000_000);
  });

  it('knows lines that are nowhere', () => {
    const book = new LogBook();
    book.put(filled(1, 10));
    book.put(filled(5_001, 10), 11);
    expect(book.gapAt(2_000)).toEqual({ first: 11, last: 5_000 });
    expect(book.wanted(1, 5_010)).toBeNull();
    expect(book.hidden(new Set())).toEqual([{ first: 12, last: 5_000 }]);
  });

  it('folds a traceback that comes in pieces, once, and opens it', () => {
    const book = new LogBook();
    const stamp = '2026-01-30T10:00:00.123Z';
    book.put(page(1, `${stamp} Traceback (most recent call last):`, `${stamp}   File "a.py", line 1`));
    expect(book.hidden(new Set())).toEqual([]);
    book.put(page(3, `${stamp}     f()`, `${stamp} ValueError: no`));
    expect(book.foldAt(1)).toEqual({ head: 1, first: 2, last: 3 });
    expect(book.hidden(new Set())).toHaveLength(1);
    expect(book.hidden(new Set([1]))).toEqual([]);
  });
});

describe('the texts of a page', () => {
  it('are as many as it says', () => {
    expect(textsOf({ from_line: 5, to_line: 4, content: 'a note' })).toEqual([]);
    expect(textsOf({ from_line: 1, to_line: 2, content: 'a\nb\nc' })).toEqual(['a', 'b\nc']);
    expect(textsOf({ from_line: 1, to_line: 1, content: '' })).toEqual(['']);
  });
});
