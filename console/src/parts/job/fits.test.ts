import { describe, expect, it } from 'vitest';
import { exactValue } from '@/api/exactJson';
import { misfitIn, type Schema } from '@/parts/job/fits';

const ROOT: Schema = {
  $defs: {
    Order: {
      type: 'object',
      required: ['id'],
      additionalProperties: false,
      properties: { id: { type: 'integer', minimum: 1 }, note: { type: 'string', minLength: 2, maxLength: 3 } },
    },
    Tree: {
      type: 'object',
      required: ['v'],
      properties: { v: { type: 'integer' }, kids: { type: 'array', items: { $ref: '#/$defs/Tree' } } },
    },
    Circle: { $ref: '#/$defs/Circle' },
    'a/b': { type: 'boolean' },
  },
};

function told(text: string, schema: Schema): string | null {
  const misfit = misfitIn(exactValue(text), schema, ROOT);
  return misfit && [misfit.what, ...misfit.place].join(' ');
}

const COUNTS = { type: 'object', additionalProperties: { type: 'integer' } };
const integer = { type: 'integer' };

describe('a value that does not fit', () => {
  it.each<[string, Schema, string]>([
    ['[1]', COUNTS, 'notObject'],
    ['{"a":"x"}', COUNTS, 'notNumber a'],
    ['{"a":1.5}', COUNTS, 'integer a'],
    ['{"a":null}', COUNTS, 'notNull a'],
    ['[1]', { anyOf: [COUNTS, { type: 'null' }] }, 'notObject'],
    ['{"a":"x"}', { anyOf: [COUNTS, { type: 'null' }] }, 'notNumber a'],
    ['"x"', { anyOf: [integer, { type: 'array', items: integer }] }, 'noneFits'],
    ['"x"', { type: ['integer', 'null'] }, 'noneFits'],
    ['5', { allOf: [{ type: 'string' }] }, 'notText'],
    ['{"a":1}', { type: 'array', items: integer }, 'notList'],
    ['[1,[2]]', { type: 'array', items: integer }, 'notNumber 1'],
    ['[1,"x","y"]', { type: 'array', prefixItems: [integer, { type: 'string' }], items: integer }, 'notNumber 2'],
    ['[]', { type: 'array', minItems: 1 }, 'tooFew'],
    ['[1,2]', { type: 'array', maxItems: 1 }, 'tooMany'],
    ['{}', { type: 'object', minProperties: 1 }, 'tooFew'],
    ['{}', { $ref: '#/$defs/Order' }, 'lacks'],
    ['{"id":1,"note":"ab","more":1}', { $ref: '#/$defs/Order' }, 'notKnown'],
    ['{"id":0}', { $ref: '#/$defs/Order' }, 'min id'],
    ['{"id":1,"note":"a"}', { $ref: '#/$defs/Order' }, 'tooShort note'],
    ['{"id":1,"note":"abcd"}', { $ref: '#/$defs/Order' }, 'tooLong note'],
    ['{"v":1,"kids":[{"v":2},{"v":"x"}]}', { $ref: '#/$defs/Tree' }, 'notNumber kids 1 v'],
    ['[3]', { $ref: '#/$defs/a~1b' }, 'notYesOrNo'],
    ['["c"]', { items: { enum: ['a', 'b'] }, type: 'array' }, 'notOffered 0'],
    ['{"k":"dog"}', { type: 'object', properties: { k: { const: 'cat' } } }, 'notOffered k'],
    ['["1"]', { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' } }, 'pattern 0'],
    ['3', { multipleOf: 2, type: 'integer' }, 'multiple'],
    ['0', { exclusiveMinimum: 0, type: 'number' }, 'above'],
    ['[1.5]', { items: { exclusiveMaximum: 1.5, type: 'number' }, type: 'array' }, 'below 0'],
    ['9007199254740994', { type: 'integer', maximum: exactValue('9007199254740993') }, 'max'],
  ])('%s is told with its place', (text, schema, misfit) => {
    expect(told(text, schema)).toBe(misfit);
  });
});

describe('what a handler would take', () => {
  it.each<[string, Schema]>([
    ['{"a":"5","b":1.0,"c":true,"d":" 1_000 ","e":1234567890123456789}', COUNTS],
    ['[1,"1.5","inf",false,1e400]', { type: 'array', items: { type: 'number' } }],
    ['["true","no",1,0.0]', { type: 'array', items: { type: 'boolean' } }],
    ['["1",1.0,true]', { type: 'array', items: { type: 'integer', enum: [1, 2] } }],
    ['["RED"]', { type: 'array', items: { enum: ['red'] } }],
    ['[1700000000,"2026-01-01"]', { type: 'array', items: { type: 'string', format: 'date-time' } }],
    ['[[1,2]]', { type: 'array', items: { type: 'string', format: 'color' } }],
    ['[" abc "]', { type: 'array', items: { type: 'string', maxLength: 3, pattern: '^[A-Z]+$' } }],
    ['[1,1,1]', { type: 'array', uniqueItems: true, maxItems: 1 }],
    ['{"x":1}', { type: 'array', prefixItems: [integer] }],
    ['{"byItsOtherName":1}', { $ref: '#/$defs/Order' }],
    ['9007199254740993', { type: 'integer', maximum: exactValue('9007199254740993') }],
    ['"x"', { pattern: '(?P<x>' }],
    ['["x"]', { type: 'array', items: { type: 'string', pattern: '(?P<x>' } }],
    ['[1]', { $ref: '#/$defs/Circle' }],
    ['[1]', { $ref: '#/$defs/Missing' }],
    ['[1]', { $ref: 'https://elsewhere/schema' }],
    ['[1]', {}],
    ['0.3', { multipleOf: 0.1, type: 'number' }],
    ['"café"', { type: 'string', pattern: '^\\w+$' }],
    ['true', { enum: ['auto', true] }],
    ['{"__proto__":1}', COUNTS],
  ])('%s is never refused', (text, schema) => {
    expect(told(text, schema)).toBeNull();
  });
});
