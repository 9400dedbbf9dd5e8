import { describe, expect, it } from 'vitest';
import { exactValue } from '@/api/exactJson';
import {
  formOf,
  type ParamField,
  readObject,
  readTyped,
  type Schema,
  troubleWith,
  withValue,
  writeObject,
  wrongWith,
} from '@/parts/job/schema';

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['supplier'],
  $defs: { Colour: { type: 'string', enum: ['red', 'green'] } },
  properties: {
    supplier: { type: 'string', description: 'Which one' },
    pages: { type: 'integer', default: 10, minimum: 1, exclusiveMaximum: 100 },
    share: { anyOf: [{ type: 'number' }, { type: 'null' }], default: null },
    full: { type: 'boolean', default: false },
    colour: { $ref: '#/$defs/Colour', default: 'red' },
    names: { type: 'array', items: { type: 'string' } },
    day: { type: 'string', format: 'date' },
    nested: { type: 'object', properties: {} },
    either: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
  },
};

function fields(): Record<string, ParamField> {
  const form = formOf(SCHEMA);
  if (form.kind !== 'fields') throw new Error(form.kind);
  return Object.fromEntries(form.fields.map((one) => [one.name, one]));
}

describe('the form of a schema', () => {
  it('has a field of the right kind for each argument', () => {
    const kinds = Object.values(fields()).map(({ name, kind }) => [name, kind]);
    expect(Object.fromEntries(kinds)).toEqual({
      supplier: 'text',
      pages: 'integer',
      share: 'number',
      full: 'switch',
      colour: 'choice',
      names: 'list',
      day: 'date',
      nested: 'json',
      either: 'json',
    });
  });

  it('knows what must be said, what is taken otherwise, and the limits', () => {
    const { supplier, pages, colour } = fields();
    expect([supplier?.required, supplier?.description, pages?.required]).toEqual([true, 'Which one', false]);
    expect([pages?.fallback, pages?.min, pages?.max]).toEqual([10, '1', '99']);
    expect([colour?.options, colour?.fallback]).toEqual([['"red"', '"green"'], 'red']);
  });

  it('is one line for a text, and free where nothing is announced', () => {
    expect(formOf({ type: 'string', title: 'until' })).toEqual({ kind: 'line', title: 'until' });
    expect(formOf(null)).toEqual({ kind: 'free' });
    expect(formOf({ type: 'object' })).toEqual({ kind: 'free' });
  });

  it('does not follow references in a circle', () => {
    const circle = { properties: { a: { $ref: '#/$defs/A' } }, $defs: { A: { $ref: '#/$defs/A' } } };
    expect(formOf(circle).kind).toBe('fields');
  });
});

describe('form and text', () => {
  it('lead to each other, and keep what the form does not know', () => {
    const text = '{"supplier":"north","extra":[1]}';
    expect(writeObject(readObject(text) ?? new Map())).toBe(text);
    expect(readObject('  ')).toEqual(new Map());
    expect(writeObject(new Map())).toBe('');
    expect(writeObject(withValue(readObject('{"a":1,"b":0}') ?? new Map(), 'a', undefined))).toBe('{"b":0}');
  });

  it('do not take anything else for an object', () => {
    for (const text of ['[1]', '"a"', '7', 'null', '{', 'plain words']) expect(readObject(text)).toBeNull();
  });

  it('keep every digit of what is not changed, and of what is typed', () => {
    const stored = '{"order_id": 1234567890123456789, "share": 0.1000, "big": [1e400, -0], "pages": 3}';
    const values = withValue(readObject(stored) ?? new Map(), 'pages', '4');
    expect(writeObject(values)).toBe('{"order_id":1234567890123456789,"share":0.1000,"big":[1e400, -0],"pages":4}');
    const { pages, nested } = fields() as { pages: ParamField; nested: ParamField };
    for (const typed of ['1234567890123456789', '1e400', '0.1000', '-0']) {
      expect([readTyped(pages, ` ${typed} `), readTyped(nested, `[${typed}]`)]).toEqual([typed, `[${typed}]`]);
    }
  });
});

describe('what is wrong with a value', () => {
  it('is found before it is sent', () => {
    const { supplier, pages } = fields() as { supplier: ParamField; pages: ParamField };
    expect(troubleWith(supplier, undefined)).toBe('missing');
    expect(troubleWith(supplier, '""')).toBeNull();
    expect(troubleWith(pages, undefined)).toBeNull();
    expect(troubleWith(pages, '1.5')).toBe('integer');
    expect(troubleWith(pages, '0')).toBe('min');
    expect(troubleWith(pages, '100')).toBe('max');
    expect(troubleWith(pages, '"7"')).toBe('notNumber');
    expect(troubleWith({ ...supplier, pattern: '^[a-z]+$' }, '"A"')).toBe('pattern');
    expect(troubleWith({ ...supplier, pattern: '(?P<x>' }, '"A"')).toBeNull();
  });

  it('is that it is of another kind, or not what one may choose from', () => {
    const told = (text: string) => wrongWith(formOf(SCHEMA), text).map(({ name, trouble }) => [name, trouble]);
    expect(
      told('{"supplier":5,"names":[1],"full":"yes","colour":"blue","day":"soon","share":null,"pages":null}'),
    ).toEqual([
      ['supplier', 'notText'],
      ['pages', 'notNull'],
      ['full', 'notYesOrNo'],
      ['colour', 'notOffered'],
      ['names', 'notTexts'],
      ['day', 'notDate'],
    ]);
    expect(
      told('{"supplier":"","names":["a"],"full":true,"colour":"r\\u0065d","day":"2026-12-31","either":1}'),
    ).toEqual([]);
  });

  it('is how long it is', () => {
    const size = { minLength: 2, maxLength: 3, minItems: 1, maxItems: 2 };
    const form = formOf({
      properties: { text: { type: 'string', ...size }, list: { type: 'array', items: { type: 'string' }, ...size } },
    });
    const told = (text: string) => wrongWith(form, text).map(({ trouble }) => trouble);
    expect(told('{"text":"a","list":[]}')).toEqual(['tooShort', 'tooFew']);
    expect(told('{"text":"abcd","list":["a","b","c"]}')).toEqual(['tooLong', 'tooMany']);
    expect(told('{"text":"😀😀😀","list":["a"]}')).toEqual([]);
  });

  it('is that the handler has no such argument, where it takes no others', () => {
    const told = (schema: Schema) => wrongWith(formOf(schema), '{"supplier":"a","zzz":1}');
    expect(told(SCHEMA)).toMatchObject([{ name: 'zzz', trouble: 'notTaken' }]);
    expect(told({ ...SCHEMA, additionalProperties: true })).toEqual([]);
  });

  it('is measured exactly against limits that no number of JavaScript has', () => {
    const schema =
      '{"properties":{"id":{"type":"integer","maximum":9007199254740993},"e":{"enum":[1234567890123456789]}}}';
    const form = formOf(exactValue(schema) as Schema);
    if (form.kind !== 'fields') throw new Error(form.kind);
    const [id, chosen] = form.fields as [ParamField, ParamField];
    expect([troubleWith(id, '9007199254740993'), troubleWith(id, '9007199254740994')]).toEqual([null, 'max']);
    expect(chosen.options).toEqual(['1234567890123456789']);
  });

  it('is told of the whole: what is typed and no value, what is missing, and what is no object', () => {
    const form = formOf(SCHEMA);
    const told = (text: string, typed?: Map<string, string>) =>
      wrongWith(form, text, typed).map(({ name, trouble }) => [name, trouble]);
    expect(told('{"supplier":"north","pages":10}')).toEqual([]);
    expect(
      told(
        '{"pages":1000}',
        new Map([
          ['nested', '[1, 2'],
          ['share', 'x'],
        ]),
      ),
    ).toEqual([
      ['supplier', 'missing'],
      ['pages', 'max'],
      ['share', 'notNumber'],
      ['nested', 'notJson'],
    ]);
    expect(told('{"supplier"')).toEqual([[null, 'notAnObject']]);
    expect(wrongWith(formOf(null), 'anything')).toEqual([]);
  });

  it('is found within what is written as JSON, with its place', () => {
    const counts = { type: 'object', additionalProperties: { type: 'integer', maximum: 9 } };
    const form = formOf({ properties: { opts: { anyOf: [counts, { type: 'null' }] }, any: {} } });
    const told = (text: string) => wrongWith(form, text).map(({ field: _, ...wrong }) => wrong);
    expect(told('{"opts":[1]}')).toEqual([{ name: 'opts', trouble: 'notObject', place: [], facts: {} }]);
    expect(told('{"opts":{"a":"x"}}')).toEqual([{ name: 'opts', trouble: 'notNumber', place: ['a'], facts: {} }]);
    expect(told('{"opts":{"a":10}}')).toEqual([{ name: 'opts', trouble: 'max', place: ['a'], facts: { max: '9' } }]);
    expect(told('{"opts":{"a":1,"b":"2"},"any":[{}]}')).toEqual([]);
    expect(told('{"opts":null}')).toEqual([]);
  });

  it('is that a name stands twice in an object, wherever that is', () => {
    const form = formOf({ properties: { opts: { type: 'object' }, n: { type: 'integer' } } });
    const told = (text: string) => wrongWith(form, text).map(({ name, trouble, place }) => [name, trouble, place]);
    expect(told('{"opts":{"a":1,"a":2}}')).toEqual([['opts', 'twice', ['a']]]);
    expect(told('{"opts":{"b":[1,{"a":1,"\\u0061":[]}]}}')).toEqual([['opts', 'twice', ['b', 1, 'a']]]);
    expect(told('{"n":1,"n":2}')).toEqual([['n', 'twice', []]]);
    expect(told('{"opts":{"a":{"a":["a","a"]},"b":{"a":1}},"n":1}')).toEqual([]);
  });
});
