import { describe, expect, it } from 'vitest';
import { formOf, type ParamField, pretty, readObject, troubleWith, writeObject } from '@/parts/job/schema';

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
    expect([pages?.fallback, pages?.min, pages?.max]).toEqual([10, 1, 99]);
    expect([colour?.options, colour?.fallback]).toEqual([['red', 'green'], 'red']);
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
    expect(writeObject(readObject(text) ?? {})).toBe(text);
    expect(readObject('  ')).toEqual({});
    expect(writeObject({})).toBe('');
    expect(writeObject({ a: undefined, b: 0 })).toBe('{"b":0}');
  });

  it('do not take anything else for an object', () => {
    for (const text of ['[1]', '"a"', '7', 'null', '{', 'plain words']) expect(readObject(text)).toBeNull();
  });

  it('are shown with line breaks only where they are JSON', () => {
    expect(pretty('{"a":1}')).toBe('{\n  "a": 1\n}');
    expect(pretty('2026-01-30')).toBe('2026-01-30');
    expect(pretty('7')).toBe('7');
  });
});

describe('what is wrong with a value', () => {
  it('is found before it is sent', () => {
    const { supplier, pages } = fields() as { supplier: ParamField; pages: ParamField };
    expect(troubleWith(supplier, undefined)).toBe('missing');
    expect(troubleWith(supplier, '')).toBeNull();
    expect(troubleWith(pages, undefined)).toBeNull();
    expect(troubleWith(pages, 1.5)).toBe('integer');
    expect(troubleWith(pages, 0)).toBe('min');
    expect(troubleWith(pages, 100)).toBe('max');
    expect(troubleWith({ ...supplier, pattern: '^[a-z]+$' }, 'A')).toBe('pattern');
    expect(troubleWith({ ...supplier, pattern: '(?P<x>' }, 'A')).toBeNull();
  });
});
