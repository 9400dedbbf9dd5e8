import { expect, test } from 'vitest';

const sources = import.meta.glob('../**/*.{ts,tsx}', { query: '?raw', import: 'default', eager: true }) as Record<
  string,
  string
>;

/** The literal words a key begins with, of everything that is fetched: `['jobs', 'history', id]` is jobs.history. */
function fetched(source: string): string[] {
  const asked = /queryKey: \[((?:'[^']*'(?:, )?)+)([^\]]*)\](?:[^{}]|\{[^{}]*\})*?queryFn/g;
  return [...source.matchAll(asked)].map(([, words, more]) => `${words}${more === '' ? '' : '…'}`);
}

test('no two queries keep what they fetched under one key', () => {
  const seen = new Map<string, string>();
  const twice: string[] = [];
  for (const [file, source] of Object.entries(sources)) {
    if (file.includes('.test.')) continue;
    for (const key of fetched(source)) {
      const other = seen.get(key);
      if (other !== undefined) twice.push(`${key}: ${other} and ${file}`);
      seen.set(key, file);
    }
  }
  expect(seen.size).toBeGreaterThan(20);
  expect(twice).toEqual([]);
});
