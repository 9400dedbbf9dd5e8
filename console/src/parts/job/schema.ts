// What a handler takes, from the JSON Schema its executor announced: the fields of a form, and the way between a form
// and the text that is stored. What a form cannot show is written as JSON, in its own field. A value is the JSON text it is
// written with, so that no digit of it changes on its way.

import {
  exactText,
  exactValue,
  givenTwice,
  isLess,
  isNumeral,
  isWhole,
  membersOf,
  Numeral,
  objectText,
} from '@/api/exactJson';
import { beside, fitsPattern, limitIn, type Misfit, misfitIn, type Place, type Schema, sizeIn } from '@/parts/job/fits';

export type { Schema } from '@/parts/job/fits';
/** The arguments by name, each as its JSON text. */
export type Values = ReadonlyMap<string, string>;

export type FieldKind = 'text' | 'integer' | 'number' | 'switch' | 'choice' | 'list' | 'date' | 'json';

export interface ParamField {
  name: string;
  kind: FieldKind;
  description: string;
  required: boolean;
  /** What the handler takes when nothing is said; undefined: it has no default. */
  fallback: unknown;
  /** The JSON texts one chooses from. */
  options: readonly string[];
  min: string | undefined;
  max: string | undefined;
  pattern: string | undefined;
  /** How many characters a text, or values a list, has at least and at most. */
  least: number | undefined;
  most: number | undefined;
  /** Whether it may also be null. */
  nullable: boolean;
  /** Whether the handler takes an argument of that name. */
  taken: boolean;
  /** What its value is, and the schema that is a part of; not said of one of which nothing is known. */
  schema?: { own: Schema; root: Schema };
}

/** One text, a set of fields, or nothing a form could be made of. */
export type ParamForm =
  | { kind: 'line'; title: string }
  /** Closed: the handler takes no others. */
  | { kind: 'fields'; fields: ParamField[]; closed: boolean }
  | { kind: 'free' };

export function formOf(schema: Schema | null | undefined): ParamForm {
  if (!schema) return { kind: 'free' };
  if (schema.type === 'string') return { kind: 'line', title: textOf(schema.title) };
  const properties = objectOf(schema.properties);
  if (!properties) return { kind: 'free' };
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  const fields = Object.entries(properties).map(([name, said]) => {
    const own = objectOf(said) ?? {};
    const field = fieldOf(name, resolved(own, schema), required.has(name));
    return { ...field, nullable: isNullable(own), schema: { own, root: schema } };
  });
  return { kind: 'fields', fields, closed: schema.additionalProperties === false };
}

/** The arguments that the handler has names for, and whatever else is given. */
export function fieldsOf(form: ParamForm & { kind: 'fields' }, values: Values): ParamField[] {
  const known = new Set(form.fields.map(({ name }) => name));
  const others = [...values.keys()].filter((name) => !known.has(name));
  return [...form.fields, ...others.map((name) => ({ ...fieldOf(name, {}, false), taken: !form.closed }))];
}

function fieldOf(name: string, schema: Schema, required: boolean): ParamField {
  const offered = Object.hasOwn(schema, 'const') ? [schema.const] : schema.enum;
  const options = Array.isArray(offered) ? offered.filter(isPlain).map(exactText) : [];
  const kind = kindOf(schema, options.length > 0);
  return {
    name,
    kind,
    description: textOf(schema.description),
    required,
    fallback: schema.default,
    options,
    min: limitIn(schema.minimum) ?? beside(schema.exclusiveMinimum, schema.type === 'integer', 1n),
    max: limitIn(schema.maximum) ?? beside(schema.exclusiveMaximum, schema.type === 'integer', -1n),
    pattern: typeof schema.pattern === 'string' ? schema.pattern : undefined,
    least: sizeIn(kind === 'list' ? schema.minItems : schema.minLength),
    most: sizeIn(kind === 'list' ? schema.maxItems : schema.maxLength),
    nullable: true,
    taken: true,
  };
}

/** As far as one can tell; what is not said is allowed. */
function isNullable(schema: Schema): boolean {
  if (Array.isArray(schema.anyOf)) return schema.anyOf.some((one) => objectOf(one)?.type === 'null');
  return typeof schema.type !== 'string' || schema.type === 'null';
}

function kindOf(schema: Schema, chosen: boolean): FieldKind {
  if (chosen) return 'choice';
  switch (schema.type) {
    case 'string':
      return schema.format === 'date' ? 'date' : 'text';
    case 'integer':
      return 'integer';
    case 'number':
      return 'number';
    case 'boolean':
      return 'switch';
    case 'array':
      return objectOf(schema.items)?.type === 'string' ? 'list' : 'json';
    default:
      return 'json';
  }
}

/** Behind a reference, and without the null that an optional one also admits. */
function resolved(schema: Schema, root: Schema, depth = 0): Schema {
  if (depth > 5) return schema;
  const named = typeof schema.$ref === 'string' ? /^#\/\$defs\/(.+)$/.exec(schema.$ref)?.[1] : undefined;
  const target = named === undefined ? undefined : objectOf(objectOf(root.$defs)?.[named]);
  if (target) return resolved({ ...target, ...without(schema, '$ref') }, root, depth + 1);
  const choices = Array.isArray(schema.anyOf) ? schema.anyOf.map(objectOf).filter((one) => one?.type !== 'null') : [];
  const only = choices.length === 1 ? choices[0] : undefined;
  return only ? resolved({ ...only, ...without(schema, 'anyOf') }, root, depth + 1) : schema;
}

/** The members of the object a text stands for; null when it is none. No text is an object without members. */
export function readObject(text: string): Values | null {
  return text.trim() === '' ? new Map() : membersOf(text);
}

/** The text of an object. What is not said is left out, so that the handler's own default applies. */
export function writeObject(values: Values): string {
  return values.size === 0 ? '' : objectText(values);
}

/** The same object with one argument said otherwise, or no longer. */
export function withValue(values: Values, name: string, value: string | undefined): Values {
  const changed = new Map(values);
  if (value === undefined) changed.delete(name);
  else changed.set(name, value);
  return changed;
}

export type Trouble =
  | 'missing'
  | 'integer'
  | 'min'
  | 'max'
  | 'pattern'
  | 'notNumber'
  | 'notJson'
  | 'notAnObject'
  | 'notText'
  | 'notTexts'
  | 'notDate'
  | 'notYesOrNo'
  | 'notOffered'
  | 'notNull'
  | 'notTaken'
  | 'tooShort'
  | 'tooLong'
  | 'tooFew'
  | 'tooMany'
  | 'twice'
  | Misfit['what'];

/** What is wrong with a value, as far as a page can tell. The executor decides. */
export function troubleWith(field: ParamField, value: string | undefined): Trouble | null {
  if (value === undefined) return field.required ? 'missing' : null;
  if (!field.taken) return 'notTaken';
  if (value === 'null') return field.nullable ? null : 'notNull';
  return troubleByKind(field, value) ?? misfitOf(field, value)?.what ?? null;
}

/** What the field itself can tell; what its schema says beyond that is looked at after it. */
function troubleByKind(field: ParamField, value: string): Trouble | null {
  switch (field.kind) {
    case 'integer':
    case 'number':
      return troubleWithNumber(field, value);
    case 'switch':
      return value === 'true' || value === 'false' ? null : 'notYesOrNo';
    case 'choice':
      return field.options.includes(asOption(value)) ? null : 'notOffered';
    case 'list':
      return troubleWithTexts(field, textsIn(value));
    case 'date':
      return DAY.test(textIn(value) ?? '') ? null : 'notDate';
    case 'text':
      return troubleWithText(field, textIn(value));
    case 'json':
      return null;
  }
}

/** What does not fit the schema, and where within the value. */
function misfitOf({ taken, schema }: ParamField, value: string | undefined): Misfit | null {
  if (!taken || !schema || value === undefined || value === 'null') return null;
  return misfitIn(exactValue(value), schema.own, schema.root);
}

const DAY = /^\d{4}-\d\d-\d\d$/;

/** A value as options are written: there are several ways to write a text. */
export function asOption(value: string): string {
  const said = textIn(value);
  return said === undefined ? value : JSON.stringify(said);
}

function troubleWithText(
  { pattern, least = 0, most = Infinity }: ParamField,
  said: string | undefined,
): Trouble | null {
  if (said === undefined) return 'notText';
  if (pattern && said && !fitsPattern(pattern, said)) return 'pattern';
  const length = [...said].length;
  return length < least ? 'tooShort' : length > most ? 'tooLong' : null;
}

function troubleWithTexts({ least = 0, most = Infinity }: ParamField, texts: string[] | undefined): Trouble | null {
  if (texts === undefined) return 'notTexts';
  return texts.length < least ? 'tooFew' : texts.length > most ? 'tooMany' : null;
}

function troubleWithNumber(field: ParamField, value: string): Trouble | null {
  if (!isNumeral(value)) return 'notNumber';
  if (field.kind === 'integer' && !isWhole(value)) return 'integer';
  if (field.min !== undefined && isLess(value, field.min)) return 'min';
  if (field.max !== undefined && isLess(field.max, value)) return 'max';
  return null;
}

/** One thing that is wrong: with an argument, or, without a name, with the whole. */
export interface Wrong {
  name: string | null;
  trouble: Trouble;
  field?: ParamField;
  /** Where within the value, if it is not about all of it. */
  place?: Place;
  /** What is to be said of that place. */
  facts?: Misfit['facts'];
}

/** Everything that is wrong with a parameter. `typed`: what stands in fields and is no value yet. */
export function wrongWith(form: ParamForm, text: string, typed: Values = new Map()): Wrong[] {
  if (form.kind !== 'fields') return [];
  const values = readObject(text);
  if (values === null) return [{ name: null, trouble: 'notAnObject' }];
  const [twice, ...place] = text.trim() === '' ? [] : (givenTwice(text) ?? []);
  return fieldsOf(form, values).flatMap((field) => {
    const { name } = field;
    const value = values.get(name);
    if (typed.has(name)) return [{ name, trouble: unreadTrouble(field), field }];
    const trouble = troubleWith(field, value);
    if (!trouble) return name === twice ? [{ name, trouble: 'twice', field, place }] : [];
    const misfit = misfitOf(field, value);
    return [{ name, trouble, field, ...(misfit?.what === trouble && { place: misfit.place, facts: misfit.facts }) }];
  });
}

export function unreadTrouble({ kind }: ParamField): Trouble {
  return kind === 'integer' || kind === 'number' ? 'notNumber' : 'notJson';
}

/** The value that was typed into a field, undefined when it was emptied; null while it is none. */
export function readTyped(field: ParamField, typed: string): string | undefined | null {
  const text = typed.trim();
  if (text === '') return undefined;
  if (unreadTrouble(field) === 'notNumber') return isNumeral(text) ? text : null;
  try {
    JSON.parse(text);
    return text;
  } catch {
    return null;
  }
}

/** The text that a JSON text stands for; undefined when it stands for something else. */
export function textIn(value: string | undefined): string | undefined {
  return value?.startsWith('"') ? (JSON.parse(value) as string) : undefined;
}

/** The texts in a list of nothing but texts. */
export function textsIn(value: string | undefined): string[] | undefined {
  if (value === undefined) return [];
  const items: unknown = JSON.parse(value);
  return Array.isArray(items) && items.every((one) => typeof one === 'string') ? items : undefined;
}

function objectOf(value: unknown): Schema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral)
    ? (value as Schema)
    : undefined;
}

function isPlain(value: unknown): boolean {
  return ['string', 'number', 'boolean'].includes(typeof value) || value instanceof Numeral;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function without(schema: Schema, name: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== name));
}
