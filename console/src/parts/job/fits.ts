// Whether a value fits a JSON Schema, as far as a page can tell without refusing what a handler would take. Pydantic
// reads "5" as a number and 1 as true, takes a length after it has trimmed a text, and may know a member by a second
// name of which the schema says nothing. So whatever is not known here fits.

import { exactText, INTEGER, isLess, isWhole, Numeral } from '@/api/exactJson';

export type Schema = { [key: string]: unknown };
/** From the value down: names of members, and numbers of values in lists, from 0. */
export type Place = readonly (string | number)[];

/** What does not fit, and where. */
export interface Misfit {
  place: Place;
  what: MisfitKind;
  /** What the text about it names. */
  facts: { min?: string; max?: string; step?: string; least?: number; most?: number; key?: string };
}

export type MisfitKind =
  | 'integer'
  | 'min'
  | 'max'
  | 'above'
  | 'below'
  | 'multiple'
  | 'pattern'
  | 'notNumber'
  | 'notText'
  | 'notYesOrNo'
  | 'notOffered'
  | 'notNull'
  | 'mustBeNull'
  | 'notList'
  | 'notObject'
  | 'noneFits'
  | 'lacks'
  | 'notKnown'
  | 'tooShort'
  | 'tooLong'
  | 'tooFew'
  | 'tooMany';

/** References that lead in a circle say nothing. */
const DEEPEST = 64;
/** Of these it is known that a text or a number stands for them; what others are is not. */
const PLAIN_FORMATS = new Set([
  ...['date', 'time', 'date-time', 'duration', 'binary', 'base64url', 'uuid', 'uuid1', 'uuid3', 'uuid4', 'uuid5'],
  ...['path', 'file-path', 'directory-path', 'uri', 'multi-host-uri', 'email', 'ipv4', 'ipv6', 'password'],
]);

/** The first thing in a value, as `exactValue` gives it, that does not fit; null where nothing is known against it. */
export function misfitIn(value: unknown, schema: unknown, root: Schema): Misfit | null {
  return judge(value, schema, { root, place: [], depth: 0 });
}

interface Where {
  root: Schema;
  place: Place;
  depth: number;
}

function judge(value: unknown, given: unknown, where: Where): Misfit | null {
  const schema = membersIn(given);
  if (!schema || where.depth > DEEPEST) return null;
  const deeper = { ...where, depth: where.depth + 1 };
  return (
    judge(value, referred(schema.$ref, where.root), deeper) ??
    firstOf(listIn(schema.allOf) ?? [], (one) => judge(value, one, deeper)) ??
    noneOf(value, schema.anyOf, deeper) ??
    noneOf(value, schema.oneOf, deeper) ??
    notOffered(value, schema, where) ??
    ofTypes(value, schema, where)
  );
}

/** What a reference is to; nothing where that is not in the schema itself. */
function referred(reference: unknown, root: Schema): unknown {
  const pointer = typeof reference === 'string' ? /^#\/(.+)$/.exec(reference)?.[1] : undefined;
  return pointer?.split('/').reduce<unknown>((at, step) => {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    const members = membersIn(at);
    return members && Object.hasOwn(members, name) ? members[name] : undefined;
  }, root);
}

function noneOf(value: unknown, choices: unknown, where: Where): Misfit | null {
  const misfits = (listIn(choices) ?? []).map((one) => judge(value, one, where));
  if (misfits.length === 0 || misfits.includes(null)) return null;
  // That it may also be null is no help to who wrote something else.
  const meant = (misfits as Misfit[]).filter(({ what }) => what !== 'mustBeNull');
  return meant.length === 1 && meant[0] ? meant[0] : misfit(where, 'noneFits');
}

function notOffered(value: unknown, schema: Schema, where: Where): Misfit | null {
  const offered = Object.hasOwn(schema, 'const') ? [schema.const] : listIn(schema.enum);
  if (!offered || offered.some((one) => looksLike(one, value))) return null;
  return misfit(where, 'notOffered');
}

/** An enumeration may take "1" for 1, and a name however it is written. */
function looksLike(one: unknown, other: unknown): boolean {
  const [text, same] = [one, other].map((each) => (typeof each === 'string' ? each : exactText(each)).trim());
  if (text === undefined || same === undefined) return true;
  if (text.toLowerCase() === same.toLowerCase()) return true;
  const [number, second] = [numberIn(one), numberIn(other)];
  return number !== null && second !== null && Number(number) === Number(second);
}

/** A number, or what is read as one. */
function numberIn(value: unknown): string | null {
  if (typeof value === 'boolean') return String(Number(value));
  const text = typeof value === 'number' || value instanceof Numeral ? String(value) : value;
  return typeof text === 'string' && text.trim() !== '' && !Number.isNaN(Number(text)) ? text : null;
}

function ofTypes(value: unknown, schema: Schema, where: Where): Misfit | null {
  if (typeof schema.format === 'string' && !PLAIN_FORMATS.has(schema.format)) return null;
  const types = listIn(schema.type) ?? [schema.type];
  const misfits = types.map((type) => ofType(value, type, schema, where));
  if (misfits.includes(null)) return null;
  return misfits.length === 1 ? (misfits[0] ?? null) : misfit(where, 'noneFits');
}

function ofType(value: unknown, type: unknown, schema: Schema, where: Where): Misfit | null {
  if (value === null && typeof type === 'string' && type !== 'null') return misfit(where, 'notNull');
  switch (type) {
    case 'null':
      return value === null ? null : misfit(where, 'mustBeNull');
    case 'string':
      return asText(value, schema, where);
    case 'integer':
    case 'number':
      return asNumber(value, type === 'integer', schema, where);
    case 'boolean':
      return isYesOrNo(value) ? null : misfit(where, 'notYesOrNo');
    case 'array':
      return asList(value, schema, where);
    case 'object':
      return asObject(value, schema, where);
    default:
      return null;
  }
}

function asText(value: unknown, schema: Schema, where: Where): Misfit | null {
  const formed = schema.format !== undefined; // an instant may be a number
  if (typeof value !== 'string') return formed && numberIn(value) !== null ? null : misfit(where, 'notText');
  if (formed) return null;
  const [least, most] = [sizeIn(schema.minLength) ?? 0, sizeIn(schema.maxLength) ?? Infinity];
  if ([...value].length < least) return misfit(where, 'tooShort', { least });
  if ([...value.trim()].length > most) return misfit(where, 'tooLong', { most });
  const { pattern } = schema;
  if (typeof pattern !== 'string') return null;
  const read = [value, value.trim()].flatMap((text) => [text, text.toLowerCase(), text.toUpperCase()]);
  return read.some((text) => fitsPattern(pattern, text)) ? null : misfit(where, 'pattern');
}

/** Letters and digits of every script: browsers know those of English only. */
const CLASSES = /\\[wWdDsSbB]/;

/** A pattern in a dialect that browsers do not know refuses nothing. */
export function fitsPattern(pattern: string, text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what is not ASCII
  if (CLASSES.test(pattern) && /[^\x00-\x7f]/.test(text)) return true;
  try {
    return new RegExp(pattern, 'u').test(text);
  } catch {
    return true;
  }
}

function asNumber(value: unknown, whole: boolean, schema: Schema, where: Where): Misfit | null {
  if (typeof value === 'boolean') return null;
  if (typeof value === 'string') {
    // There are sizes such as "10 MB", and digits of every script.
    const read = /\p{Nd}/u.test(value) || (!whole && /^\s*[+-]?(inf|infinity|nan)\s*$/i.test(value));
    return read ? null : misfit(where, 'notNumber');
  }
  if (typeof value !== 'number' && !(value instanceof Numeral)) return misfit(where, 'notNumber');
  const text = String(value);
  if (whole && !isWhole(text)) return misfit(where, 'integer');
  const min = limitIn(schema.minimum) ?? beside(schema.exclusiveMinimum, whole, 1n);
  const max = limitIn(schema.maximum) ?? beside(schema.exclusiveMaximum, whole, -1n);
  if (min !== undefined && isLess(text, min)) return misfit(where, 'min', { min });
  if (max !== undefined && isLess(max, text)) return misfit(where, 'max', { max });
  return beyond(text, whole, schema, where);
}

/** Limits that are not allowed themselves, and steps. */
function beyond(text: string, whole: boolean, schema: Schema, where: Where): Misfit | null {
  const [above, below] = [limitIn(schema.exclusiveMinimum), limitIn(schema.exclusiveMaximum)];
  if (above !== undefined && !isLess(above, text)) return misfit(where, 'above', { min: above });
  if (below !== undefined && !isLess(text, below)) return misfit(where, 'below', { max: below });
  const step = limitIn(schema.multipleOf);
  const exact = whole && step !== undefined && INTEGER.test(step) && INTEGER.test(text); // of others the rest is not
  return exact && BigInt(step) !== 0n && BigInt(text) % BigInt(step) !== 0n
    ? misfit(where, 'multiple', { step })
    : null;
}

function isYesOrNo(value: unknown): boolean {
  if (typeof value === 'string') return /^\s*(true|false|yes|no|on|off|t|f|y|n|[01](\.0*)?)\s*$/i.test(value);
  return typeof value === 'boolean' || (numberIn(value) !== null && [0, 1].includes(Number(value)));
}

function asList(value: unknown, schema: Schema, where: Where): Misfit | null {
  const heads = listIn(schema.prefixItems) ?? [];
  if (!Array.isArray(value)) return heads.length > 0 && membersIn(value) ? null : misfit(where, 'notList');
  const [least, most] = [sizeIn(schema.minItems) ?? 0, sizeIn(schema.maxItems) ?? Infinity];
  if (value.length < least) return misfit(where, 'tooFew', { least });
  // In a set, what comes twice counts once.
  if (value.length > most && schema.uniqueItems !== true) return misfit(where, 'tooMany', { most });
  return firstOf([...value.entries()], ([index, one]) =>
    judge(one, index < heads.length ? heads[index] : schema.items, within(where, index)),
  );
}

function asObject(value: unknown, schema: Schema, where: Where): Misfit | null {
  const members = membersIn(value);
  if (!members) return misfit(where, 'notObject');
  const properties = membersIn(schema.properties) ?? {};
  const names = Object.keys(members);
  const others = names.filter((name) => !Object.hasOwn(properties, name));
  const missing = (listIn(schema.required) ?? []).map(String).filter((name) => !Object.hasOwn(members, name));
  const [least, most] = [sizeIn(schema.minProperties) ?? 0, sizeIn(schema.maxProperties) ?? Infinity];
  if (names.length < least) return misfit(where, 'tooFew', { least });
  if (names.length > most) return misfit(where, 'tooMany', { most });
  // Another name may be the second one of a member that seems to be missing.
  if (missing.length > others.length) return misfit(where, 'lacks', { key: missing.find(Boolean) ?? '' });
  const left = Object.keys(properties).filter((name) => !Object.hasOwn(members, name));
  const patterned = schema.patternProperties !== undefined;
  const unknown = others.length > left.length && !patterned ? others[0] : undefined;
  if (schema.additionalProperties === false && unknown !== undefined)
    return misfit(where, 'notKnown', { key: unknown });
  const more = patterned ? undefined : schema.additionalProperties;
  return firstOf(names, (name) =>
    judge(members[name], Object.hasOwn(properties, name) ? properties[name] : more, within(where, name)),
  );
}

const within = (where: Where, step: string | number): Where => ({
  ...where,
  place: [...where.place, step],
  depth: 0,
});

function misfit({ place }: Where, what: MisfitKind, facts: Misfit['facts'] = {}): Misfit {
  return { place, what, facts };
}

function firstOf<Item>(items: readonly Item[], judged: (item: Item) => Misfit | null): Misfit | null {
  for (const item of items) {
    const found = judged(item);
    if (found) return found;
  }
  return null;
}

function membersIn(value: unknown): Schema | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral)
    ? (value as Schema)
    : undefined;
}

function listIn(value: unknown): readonly unknown[] | undefined {
  return Array.isArray(value) ? value : undefined;
}

export function limitIn(value: unknown): string | undefined {
  return typeof value === 'number' || value instanceof Numeral ? String(value) : undefined;
}

export function sizeIn(value: unknown): number | undefined {
  const size = limitIn(value);
  return size === undefined ? undefined : Number(size);
}

/** A limit that is not allowed itself: of whole numbers the next one is. */
export function beside(value: unknown, whole: boolean, by: bigint): string | undefined {
  const limit = limitIn(value);
  return limit !== undefined && whole && INTEGER.test(limit) ? String(BigInt(limit) + by) : limit;
}
