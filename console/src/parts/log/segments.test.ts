import { describe, expect, it } from 'vitest';
import { rangeIn, searchFor, segmentsOf } from '@/parts/log/segments';

describe('the segments of a line', () => {
  it('are links where there are some, and only to the web', () => {
    const [, link, rest] = segmentsOf('see https://example.org/a?b=1, or javascript:alert(1)', null);
    expect(link).toEqual({ text: 'https://example.org/a?b=1', style: {}, href: 'https://example.org/a?b=1' });
    expect(rest?.text).toBe(', or javascript:alert(1)');
    expect(rest?.href).toBeUndefined();
  });

  it('end a link where the address ends: with a bracket that was opened in it, without one from around it', () => {
    const linked = (line: string) => segmentsOf(line, null).find((one) => one.href)?.href;
    expect(linked('http://example.org/a?b=c&d=(e)')).toBe('http://example.org/a?b=c&d=(e)');
    expect(linked('(see http://example.org/a_(b).)')).toBe('http://example.org/a_(b)');
    expect(linked('(http://example.org/a)')).toBe('http://example.org/a');
    expect(linked('[{"at": [http://[::1]:5070/x]}],')).toBe('http://[::1]:5070/x');
    expect(linked('http://example.org/a).')).toBe('http://example.org/a');
  });

  it('are the links of a terminal, if they lead to the web and do not pretend to lead elsewhere', () => {
    const linked = (target: string, text: string) => {
      const [one, ...others] = segmentsOf(`\u001b]8;;${target}\u001b\\${text}\u001b]8;;\u001b\\`, null);
      return others.length > 0 ? 'in pieces' : [one?.text, one?.href];
    };
    expect(linked('https://example.org/7', 'the report')).toEqual(['the report', 'https://example.org/7']);
    expect(linked('javascript:alert(1)', 'the report')).toEqual(['the report', undefined]);
    expect(linked('file:///etc/passwd', 'the report')).toEqual(['the report', undefined]);
    expect(linked('https://example.org/\u202egnp', 'the report')).toEqual(['the report', undefined]);
    expect(linked('https://evil.example/', 'www.bank.example/login')).toEqual(['www.bank.example/login', undefined]);
    expect(linked('https://evil.example/', 'the page of bank.example')).toEqual([
      'the page of bank.example',
      undefined,
    ]);
    for (const text of ['10.0.0.1/login', 'bank\u3002example', 'x'.repeat(501)])
      expect(linked('https://evil.example/', text)).toEqual([text, undefined]);
    const coloured = '\u001b]8;;https://evil.example/\u001b\\bank\u001b[1m.example/login\u001b]8;;\u001b\\';
    expect(segmentsOf(coloured, null).map(({ href }) => href)).toEqual([undefined, undefined]);
    expect(linked('https://Example.org/7', 'example.org')).toEqual(['example.org', 'https://Example.org/7']);
    expect(linked('https://evil.example', 'https://bank.example')).toEqual([
      'https://bank.example',
      'https://bank.example',
    ]);
  });

  it('show what was found across colours and inside links', () => {
    const line = '\u001b[31mred\u001b[0mdish http://x/red';
    const found = segmentsOf(line, searchFor('redd', false)).filter((one) => one.found);
    expect(found.map((one) => one.text)).toEqual(['red', 'd']);
    const inLink = segmentsOf('http://x/red', searchFor('RED', true)).at(-1);
    expect(inLink).toEqual({ text: 'red', style: {}, href: 'http://x/red', found: true });
  });

  it('together are the line', () => {
    const line = 'a b http://x.y/z. c';
    const text = segmentsOf(line, searchFor('x', false)).map((one) => one.text);
    expect(text.join('')).toBe(line);
    expect(segmentsOf('', null)).toEqual([]);
  });
});

describe('what is looked for', () => {
  it('is taken letter by letter', () => {
    expect(segmentsOf('a.c abc', searchFor('a.c', false)).filter((one) => one.found)).toHaveLength(1);
  });

  it('is where the server found it, whatever colours and spelled out characters are before it', () => {
    const time = '2026-01-30T10:00:00.123Z ';
    const shownIn = (body: string, start: number, end: number) => {
      const range = rangeIn(time + body, body, { start: time.length + start, end: time.length + end });
      return segmentsOf(body, range)
        .filter((one) => one.found)
        .map((one) => one.text)
        .join('');
    };
    expect(shownIn('one two three', 4, 7)).toBe('two');
    expect(shownIn('\u001b[31mone\u001b[0m t\u001b[1mw\u001b[0mo three', 4, 7)).toBe('two');
    expect(shownIn('\u0007\u{1f600} two three', 3, 6)).toBe('two');
    expect(shownIn('one two', -20, 3), 'what begins in the time').toBe('one');
    expect(shownIn('one two', -20, -10), 'what is in the time').toBe('');
  });
});
