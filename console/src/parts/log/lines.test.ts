import { describe, expect, it } from 'vitest';
import { ERROR_EXPRESSION, levelExpression, levelOf, tellsOfError, told } from '@/parts/log/lines';

const STAMP = '2026-01-30T10:00:00.123Z';

describe('the level of a line', () => {
  it('is a word of its own near its beginning', () => {
    expect(levelOf(`${STAMP} ERROR app.prices: no prices`)).toBe('error');
    expect(levelOf(`${STAMP} WARNING app: slow`)).toBe('warning');
    expect(levelOf('10:00:00 [main] INFO  c.x.Main - ERROR seen')).toBe('info');
    expect(levelOf(`${STAMP} ERRORS were none`)).toBe('other');
    expect(levelOf(`${STAMP} ${'x'.repeat(90)} ERROR`)).toBe('other');
  });

  it('is found by the expression for the server too', () => {
    const found = (levels: Parameters<typeof levelExpression>[0], text: string) =>
      new RegExp(levelExpression(levels)).test(text);
    expect(found(['error'], `${STAMP} CRITICAL x: y`)).toBe(true);
    expect(found(['error', 'debug'], `${STAMP} INFO x: y`)).toBe(false);
    expect(found(['other'], `${STAMP} hello`)).toBe(true);
    expect(found(['other'], `${STAMP} INFO x: hello`)).toBe(false);
    expect(found(['other', 'info'], `${STAMP} INFO x: hello`)).toBe(true);
    for (const text of [`${STAMP} Traceback (most recent call last):`, `${STAMP} FATAL x`]) {
      expect([new RegExp(ERROR_EXPRESSION).test(text), tellsOfError(text)]).toEqual([true, true]);
    }
    expect(tellsOfError(`${STAMP} INFO x: no ERROR`)).toBe(false);
    for (const text of ['UNWARNING', 'WARNINGS', 'pre-WARN', 'WARN-ed', 'xWARN']) {
      expect(found(['warning'], `${STAMP} ${text} x`), text).toBe(false);
    }
    for (const text of ['WARN', 'WARNING', '[WARN]', 'x:WARNING:']) {
      expect(found(['warning'], text), text).toBe(true);
    }
  });

  it('is looked for from a letter on, which the server finds fast', () => {
    for (const level of ['error', 'warning', 'info', 'debug'] as const) {
      expect(levelExpression([level])).toMatch(/^\(\?:[A-Z]/);
    }
  });
});

describe('the time of a line', () => {
  it('is taken off where it says its zone', () => {
    expect(told(`${STAMP} hello`)).toEqual({ at: Date.parse(STAMP), body: 'hello' });
    expect(told('2026-01-30 11:00:00,5+01:00 x').at).toBe(Date.parse('2026-01-30T10:00:00.500Z'));
    expect(told(`${STAMP} `)).toEqual({ at: Date.parse(STAMP), body: '' });
  });

  it('stays where nobody knows the clock, or there is none', () => {
    expect(told('2026-01-30 10:00:00 x')).toEqual({ at: null, body: '2026-01-30 10:00:00 x' });
    expect(told('2026-13-77T10:00:00Z x').at).toBeNull();
  });
});
