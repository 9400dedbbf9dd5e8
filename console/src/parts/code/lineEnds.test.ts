import { describe, expect, it } from 'vitest';
import { edited, withLineEnds } from '@/parts/code/lineEnds';

describe('line ends', () => {
  it('are those of the code it was, also of a line that is added', () => {
    expect(withLineEnds('a\nb\nnew\nc\n', 'a\r\nb\r\nc\r\n')).toBe('a\r\nb\r\nnew\r\nc\r\n');
    expect(withLineEnds('new\na', 'a\r\n')).toBe('new\r\na');
    expect(withLineEnds('a\nnew\n', 'a\n')).toBe('a\nnew\n');
    expect(withLineEnds('all\nelse\n', 'a\rb\r')).toBe('all\relse\r');
  });

  it('are left where they differ, and a new line ends as most do', () => {
    const mixed = 'a\r\nb\nc\r\nd\r\n';
    expect(withLineEnds('a\nb\nnew\nc\nd\n', mixed)).toBe('a\r\nb\nnew\r\nc\r\nd\r\n');
    expect(withLineEnds('a\nc\nd\n', mixed)).toBe('a\r\nc\r\nd\r\n');
  });

  it('make no change of code in which nothing was changed', () => {
    for (const text of ['', 'a', 'a\r\n', '\r\n\r\n', 'a\r\nb\nc\rd', '\n', 'x\r\nx\r\nx\nx']) {
      expect(withLineEnds(edited(text), text)).toBe(text);
    }
  });

  it('change no word of the code', () => {
    const from = 'x\r\nx\nx\r\ny';
    for (const text of ['', 'x', 'x\nx', 'x\nx\nx\nx\ny', 'y\nx\nx\nx', '\n\n\n\n']) {
      expect(edited(withLineEnds(text, from))).toBe(text);
    }
  });
});
