// The JavaScript a browser loads before it shows anything fits its budget: the entry and everything it imports at once,
// as gzip. Pages, the editor and charts are loaded when they are opened and do not count.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

const BUDGET = 350 * 1000;
const dist = join(import.meta.dirname, '../dist');
const manifest = JSON.parse(readFileSync(join(dist, '.vite/manifest.json'), 'utf8'));

function loaded(key, seen = new Set()) {
  if (seen.has(key)) return seen;
  seen.add(key);
  for (const next of manifest[key].imports ?? []) loaded(next, seen);
  return seen;
}

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const files = [...loaded(entry)].map((key) => manifest[key].file);
const total = files.reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length, 0);
const said = `First load: ${Math.round(total / 1000)} kB of ${BUDGET / 1000} kB gzip in ${files.length} files`;
if (total > BUDGET) {
  process.stderr.write(`${said}: too much.\n`);
  process.exit(1);
}
process.stdout.write(`${said}.\n`);
