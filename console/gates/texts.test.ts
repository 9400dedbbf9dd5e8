// Texts are complete: every language has every text with the plurals it needs, nothing is left over, nothing is missing.

import { globSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../src/i18n/languages';

const SOURCE = join(import.meta.dirname, '../src');
const LOCALES = join(SOURCE, 'i18n/locales');
const PLURAL = /_(zero|one|two|few|many|other)$/;

type Tree = { [key: string]: string | Tree };

function flat(tree: Tree, before = ''): Record<string, string> {
  return Object.entries(tree).reduce<Record<string, string>>((found, [key, value]) => {
    const name = before + key;
    return Object.assign(found, typeof value === 'string' ? { [name]: value } : flat(value, `${name}.`));
  }, {});
}

function texts(language: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const file of readdirSync(join(LOCALES, language))) {
    const tree = JSON.parse(readFileSync(join(LOCALES, language, file), 'utf8')) as Tree;
    for (const [key, text] of Object.entries(flat(tree))) found[`${basename(file, '.json')}:${key}`] = text;
  }
  return found;
}

function placeholders(text: string): string[] {
  return [...new Set(text.match(/{{\w+(?:, number)?}}/g) ?? [])].sort();
}

interface Use {
  key: string;
  /** A key that is made at run time begins like this. */
  begins: boolean;
  file: string;
}

/** Every t('…') in a file; those without a namespace belong to the file's first. */
function usesIn(file: string): Use[] {
  const code = readFileSync(join(SOURCE, file), 'utf8');
  const own = /useTranslation\(\[?\s*'([\w-]+)'/.exec(code)?.[1] ?? 'common';
  const named = (key: string) => (key.includes(':') ? key : `${own}:${key}`);
  const uses: Use[] = [];
  for (const call of code.matchAll(/\bt\(([^)]*)/g)) {
    for (const [, key] of (call[1] ?? '').matchAll(/'([\w.:]+)'/g)) {
      if (key) uses.push({ key: named(key), begins: false, file });
    }
    const made = /^\s*`([\w.:]*)\$\{/.exec(call[1] ?? '');
    if (made) uses.push({ key: named(made[1] ?? ''), begins: true, file });
  }
  return uses;
}

const english = texts('en');
const bases = new Set(Object.keys(english).map((key) => key.replace(PLURAL, '')));
const uses = globSync('**/*.{ts,tsx}', { cwd: SOURCE })
  .filter((file) => !file.includes('.test.'))
  .flatMap(usesIn);

/** Names, which are the same in every language. */
const NAMES = new Set([
  ...['Orth', 'xxl-job 3.5', 'API', 'URL', 'TLS', 'STARTTLS', 'Cron', '{{cpu}} CPU · {{memory}} MB'],
  ...['Webhook', 'Apprise', 'Slack', 'Microsoft Teams'],
  ...['Groovy', 'Shell', 'Python', 'Python 2', 'Python {{version}}', 'Node.js', 'PowerShell', 'PHP'],
]);
/** What French and English call alike. */
const ALIKE = new Set(['version {{n}}', 'option {{name}}', '{{words}}, {{zone}}']);

describe('texts', () => {
  it('that the code names exist', () => {
    const missing = uses.filter(({ key, begins }) =>
      begins ? ![...bases].some((base) => base.startsWith(key)) : !bases.has(key),
    );
    expect(missing).toEqual([]);
  });

  it('are all used', () => {
    const unused = [...bases].filter(
      (base) => !uses.some(({ key, begins }) => (begins ? base.startsWith(key) : base === key)),
    );
    expect(unused).toEqual([]);
  });

  for (const language of LANGUAGES) {
    it(`are complete in ${language}, with its plurals and no others`, () => {
      const own = texts(language);
      const categories = new Intl.PluralRules(language).resolvedOptions().pluralCategories;
      const expected = [...bases].flatMap((base) =>
        base in english ? [base] : categories.map((category) => `${base}_${category}`),
      );
      expect(Object.keys(own).sort()).toEqual(expected.sort());
    });

    it(`say the same things in ${language}, and none is empty`, () => {
      for (const [key, text] of Object.entries(texts(language))) {
        const source = english[key] ?? english[key.replace(PLURAL, '_other')] ?? '';
        expect(text.trim(), `${language} ${key}`).not.toBe('');
        expect(placeholders(text), `${language} ${key}`).toEqual(placeholders(source));
      }
    });
  }

  it('are not English where they should be Chinese', () => {
    const foreign = Object.entries(texts('zh-CN')).filter(
      ([, text]) => /[a-z]{2}/i.test(text.replace(/{{.*?}}/g, '')) && !/\p{Script=Han}/u.test(text) && !NAMES.has(text),
    );
    expect(foreign).toEqual([]);
  });

  it('are not English where they should be French', () => {
    // Of single words many are the same.
    const copied = Object.entries(texts('fr')).filter(
      ([key, text]) => / /.test(text) && text === english[key] && !NAMES.has(text) && !ALIKE.has(text),
    );
    expect(copied).toEqual([]);
  });
});
