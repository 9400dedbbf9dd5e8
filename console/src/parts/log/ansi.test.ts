import { describe, expect, it } from 'vitest';
import { plain, spansOf, visible, visibleLines } from '@/parts/log/ansi';

const ESC = '\u001b';

describe('colours of terminals', () => {
  it('become styles, which end where they say', () => {
    expect(spansOf(`a ${ESC}[1;31mred${ESC}[0m b`)).toEqual([
      { text: 'a ', style: {} },
      { text: 'red', style: { bold: true, fg: 'red' } },
      { text: ' b', style: {} },
    ]);
    expect(spansOf(`${ESC}[31mred${ESC}[39m none`).at(-1)?.style).toEqual({});
    expect(spansOf(`${ESC}[mx`)).toEqual([{ text: 'x', style: {} }]);
  });

  it('of any kind become the nearest one that can be read', () => {
    const colour = (codes: string) => spansOf(`${ESC}[${codes}mx`)[0]?.style;
    expect(colour('92')).toEqual({ fg: 'green' });
    expect(colour('44')).toEqual({ bg: 'blue' });
    expect(colour('38;5;196')).toEqual({ fg: 'red' });
    expect(colour('38;2;0;200;220')).toEqual({ fg: 'cyan' });
    expect(colour('48;5;240;1')).toEqual({ bg: 'black', bold: true });
    expect(colour('38;2;1;2;3')).toEqual({ fg: 'black' });
    expect(colour('38;2;0;200;220;4')).toEqual({ fg: 'cyan', underline: true });
    expect(colour('38;9;1')).toEqual({});
  });

  it('are left out of plain text', () => {
    expect(plain(`${ESC}[32mok${ESC}[0m`)).toBe('ok');
  });
});

describe('what a terminal would obey', () => {
  it('is spelled out', () => {
    expect(plain(`${ESC}[2J${ESC}]0;title\u0007x`)).toBe('\\x1b[2J\\x1b]0;title\\x07x');
    expect(visible('a\u202eb\u0085\u007f\tc')).toBe('a\\u202eb\\x85\\x7f\tc');
  });

  it('in messages too, whose lines stay lines', () => {
    expect(visibleLines('one \u202egnp.exe\r\n\ttwo \u2066three\u2069\u200f')).toBe(
      'one \\u202egnp.exe\n\ttwo \\u2066three\\u2069\\u200f',
    );
  });

  it('but of a link only the text is left, in colours as well', () => {
    const line = `see ${ESC}]8;id=1;https://example.org/7${ESC}\\the ${ESC}[31mreport${ESC}]8;;${ESC}\\!`;
    expect(plain(line)).toBe('see the report!');
    expect(spansOf(line)).toEqual([
      { text: 'see ', style: {} },
      { text: 'the ', style: {}, target: 'https://example.org/7' },
      { text: 'report', style: { fg: 'red' }, target: 'https://example.org/7' },
      { text: '!', style: { fg: 'red' } },
    ]);
    expect(plain(`${ESC}]8;;http://x\u0007y${ESC}]8;;\u0007`)).toBe('y');
    expect(plain(`${ESC}]8;;http://x`)).toBe('\\x1b]8;;http://x');
  });

  it('and markup stays text', () => {
    expect(spansOf('<img src=x onerror=alert(1)>')).toEqual([{ text: '<img src=x onerror=alert(1)>', style: {} }]);
  });
});
