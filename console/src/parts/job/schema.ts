// What a handler takes, from the JSON Schema its executor announced: the fields of a form, and the way between a form
// and the text that is stored. What a form cannot show is written as JSON, in its own field.

export type Schema = { [key: string]: unknown };
export type Values = Record<string, unknown>;

export type FieldKind = 'text' | 'integer' | 'number' | 'switch' | 'choice' | 'list' | 'date' | 'json';

export interface ParamField {
  name: string;
  kind: FieldKind;
  description: string;
  required: boolean;
  /** What the handler takes when nothing is said; undefined: it has no default. */
  fallback: unknown;
  options: readonly (string | number)[];
  min: number | undefined;
  max: number | undefined;
  pattern: string | undefined;
}

/** One text, a set of fields, or nothing a form could be made of. */
export type ParamForm = { kind: 'line'; title: string } | { kind: 'fields'; fields: ParamField[] } | { kind: 'free' };

export function formOf(schema: Schema | null | undefined): ParamForm {
  if (!schema) return { kind: 'free' };
  if (schema.type === 'string') return { kind: 'line', title: textOf(schema.title) };
  const properties = objectOf(schema.properties);
  if (!properties) return { kind: 'free' };
  const required = new Set(Array.isArray(schema.required) ? schema.required.map(String) : []);
  const fields = Object.entries(properties).map(([name, said]) =>
    fieldOf(name, resolved(objectOf(said) ?? {}, schema), required.has(name)),
  );
  return { kind: 'fields', fields };
}

function fieldOf(name: string, schema: Schema, required: boolean): ParamField {
  const options = Array.isArray(schema.enum) ? schema.enum.filter(isPlain) : [];
  return {
    name,
    kind: kindOf(schema, options.length > 0),
    description: textOf(schema.description),
    required,
    fallback: schema.default,
    options,
    min: numberOf(schema.minimum) ?? above(schema.exclusiveMinimum, schema.type),
    max: numberOf(schema.maximum) ?? below(schema.exclusiveMaximum, schema.type),
    pattern: typeof schema.pattern === 'string' ? schema.pattern : undefined,
  };
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

/** The object a text stands for; null when it is none. No text is an object without members. */
export function readObject(text: string): Values | null {
  if (text.trim() === '') return {};
  try {
    return objectOf(JSON.parse(text)) ?? null;
  } catch {
    return null;
  }
}

/** The text of an object. What is not said is left out, so that the handler's own default applies. */
export function writeObject(values: Values): string {
  const said = Object.entries(values).filter(([, value]) => value !== undefined);
  return said.length === 0 ? '' : JSON.stringify(Object.fromEntries(said));
}

export type Trouble = 'missing' | 'integer' | 'min' | 'max' | 'pattern';

/** What is wrong with a value, as far as a page can tell. The executor decides. */
export function troubleWith(field: ParamField, value: unknown): Trouble | null {
  if (value === undefined || value === '') return field.required && value === undefined ? 'missing' : null;
  if (typeof value === 'number') {
    if (field.kind === 'integer' && !Number.isInteger(value)) return 'integer';
    if (field.min !== undefined && value < field.min) return 'min';
    if (field.max !== undefined && value > field.max) return 'max';
  }
  if (typeof value === 'string' && field.pattern && !matches(field.pattern, value)) return 'pattern';
  return null;
}

/** A pattern in a dialect that browsers do not know refuses nothing. */
function matches(pattern: string, value: string): boolean {
  try {
    return new RegExp(pattern, 'u').test(value);
  } catch {
    return true;
  }
}

/** JSON with line breaks, for reading; what is no JSON stays as it is. */
export function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}

function objectOf(value: unknown): Schema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : undefined;
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

function above(value: unknown, type: unknown): number | undefined {
  const limit = numberOf(value);
  return limit !== undefined && type === 'integer' ? limit + 1 : limit;
}

function below(value: unknown, type: unknown): number | undefined {
  const limit = numberOf(value);
  return limit !== undefined && type === 'integer' ? limit - 1 : limit;
}

function without(schema: Schema, name: string): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== name));
}
