import { describe, expect, it } from 'vitest';
import { exactText, exactValue, isNumeral, isWhole, laidOut, membersOf, Numeral, objectText } from '@/api/exactJson';

const LITERALS = ['1234567890123456789', '-9223372036854775809', '1e400', '0.1000', '-0', '1.0', '1E+2', '12'];

describe('numbers', () => {
  it('stay as they are written, wherever they stand', () => {
    for (const one of LITERALS) {
      const text = `{"a":${one},"b":[${one},{"c":${one}}],"d":"${one}"}`;
      expect(laidOut(text).replace(/\s/g, '')).toBe(text);
      expect(exactText(exactValue(text))).toBe(text);
      expect(objectText(membersOf(text) ?? new Map())).toBe(text);
      expect(membersOf(text)?.get('a')).toBe(one);
    }
  });

  it('are plain numbers where those say the same', () => {
    expect(exactValue('[12,0.5,-3]')).toEqual([12, 0.5, -3]);
    expect(exactValue('[1.0]')).toEqual([new Numeral('1.0')]);
  });

  it('are known to be whole at any size', () => {
    for (const one of ['1234567890123456789', '-0', '1.0', '1e400', '1.5e1', '0.000', '10e-1']) {
      expect([one, isWhole(one)]).toEqual([one, true]);
    }
    for (const one of ['1234567890123456789.5', '0.1000', '1e-400', '15e-1'])
      expect([one, isWhole(one)]).toEqual([one, false]);
  });

  it('are told from what is none', () => {
    for (const one of LITERALS) expect([one, isNumeral(one)]).toEqual([one, true]);
    for (const one of ['', '05', '.5', '5.', '+1', '1,5', 'NaN', '0x1', '1 2', '"1"']) {
      expect([one, isNumeral(one)]).toEqual([one, false]);
    }
  });
});

describe('a text', () => {
  it('is laid out as JSON.stringify would, where numbers allow', () => {
    for (const value of [{}, [], { a: {}, b: [] }, { a: [1, { b: 'x, {y}: "z"' }], c: null, d: [[]] }]) {
      expect(laidOut(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
    }
  });

  it('is left alone where it is no object and no list', () => {
    for (const text of ['{no json', '12', '', '"a"', '[1,]', '2026-01-30']) expect(laidOut(text)).toBe(text);
  });

  it('keeps a name that is there twice, and names that look like numbers in their order', () => {
    expect(laidOut('{"b":1,"1":2,"b":3}').replace(/\s/g, '')).toBe('{"b":1,"1":2,"b":3}');
    expect([...(membersOf('{"b":1,"1":2}')?.keys() ?? [])]).toEqual(['b', '1']);
  });
});

describe('members', () => {
  it('are the texts they were written with', () => {
    const members = membersOf(' { "a" : [1, 2] , "b\\u0021":{"c":{}}, "d": "}" } ');
    expect([...(members ?? [])]).toEqual([
      ['a', '[1, 2]'],
      ['b!', '{"c":{}}'],
      ['d', '"}"'],
    ]);
    expect(membersOf('{}')).toEqual(new Map());
  });

  it('are those of an object only', () => {
    for (const text of ['[1]', '"a"', '7', 'null', '{', 'plain words', '']) expect(membersOf(text)).toBeNull();
  });
});
