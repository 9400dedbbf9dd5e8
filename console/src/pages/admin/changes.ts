// What an entry of the audit changed, field by field.

export interface Change {
  field: string;
  before: string | null;
  after: string | null;
}

type Fields = Record<string, unknown> | null;

/** Fields that are not the same before and after, in the order they are told. */
export function changesIn(before: Fields, after: Fields): Change[] {
  const names = new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})]);
  return [...names]
    .map((field) => ({ field, before: shown(before, field), after: shown(after, field) }))
    .filter((one) => one.before !== one.after);
}

function shown(fields: Fields, name: string): string | null {
  if (fields === null || !(name in fields)) return null;
  const value = fields[name];
  return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
}
