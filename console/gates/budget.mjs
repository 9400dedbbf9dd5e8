// The JavaScript a browser loads before it shows anything fits its budget, as gzip: the entry and everything it imports
// at once, the texts it cannot speak without, in whichever language they are longest, and what is around every page or
// asks people to sign in. Pages, the editor and charts are loaded when they are opened and do not count. How many files
// these are is told: each is a request. HTML, CSS and HTTP headers are not counted.

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

function bytes(keys) {
  const files = new Set([...keys].map((key) => manifest[key].file));
  return [...files].reduce((sum, file) => sum + gzipSync(readFileSync(join(dist, file)), { level: 9 }).length, 0);
}

const entry = Object.keys(manifest).find((key) => manifest[key].isEntry);
const texts = Object.entries({ en: 'en_US', fr: 'fr_FR', 'zh-CN': 'zh_CN' }).map(([language, locale]) => [
  ...['common', 'status'].map((name) => `src/i18n/locales/${language}/${name}.json`),
  `node_modules/antd/es/locale/${locale}.js`,
]);

const totals = ['src/app/Login.tsx', 'src/app/Shell.tsx'].map((first) => {
  const each = texts.map((spoken) => {
    const seen = new Set();
    for (const key of [entry, first, ...spoken]) loaded(key, seen);
    return [bytes(seen), new Set([...seen].map((key) => manifest[key].file)).size];
  });
  const name = first.slice('src/app/'.length, -'.tsx'.length);
  return [name, Math.max(...each.map(([size]) => size)), Math.max(...each.map(([, requests]) => requests))];
});
const told = totals
  .map(([name, total, requests]) => `${name} ${Math.round(total / 1000)} kB in ${requests} files`)
  .join(', ');
const said = `First load of ${BUDGET / 1000} kB gzip: ${told}`;
if (totals.some(([, total]) => total > BUDGET)) {
  process.stderr.write(`${said}: too much.\n`);
  process.exit(1);
}
process.stdout.write(`${said}.\n`);
