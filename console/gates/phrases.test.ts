// Editors say nothing in English where the page speaks another language: whatever their packages can ask for has a text.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderHook } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { LANGUAGES } from '../src/i18n/languages';
import { usePhrases } from '../src/parts/code/usePhrases';

const ROOT = join(import.meta.dirname, '..');
const PACKAGES = join(ROOT, 'node_modules/@codemirror');

/** What only these extensions say. Nobody uses them: whoever begins to gives the phrases their texts. */
const UNUSED: Record<string, { by: RegExp; phrases: string[] }> = {
  autocomplete: { by: /\b(autocompletion|completionKeymap|startCompletion)\b/, phrases: ['Completions'] },
  lint: {
    by: /\b(linter|lintGutter|lintKeymap|openLintPanel|setDiagnostics)\b/,
    phrases: ['Diagnostics', 'No diagnostics'],
  },
  language: {
    by: /\b(codeFolding|foldGutter|foldKeymap|fold(Code|All))\b/,
    phrases: ['Folded lines', 'Unfolded lines', 'to', 'folded code', 'unfold', 'Fold line', 'Unfold line'],
  },
  merge: {
    by: /\b(unifiedMergeView|revertControls|mergeControls)\b/,
    phrases: ['Revert this chunk', 'Accept', 'Reject'],
  },
  view: { by: /\b(highlightSpecialChars|basicSetup|minimalSetup)\b/, phrases: ['Control character'] },
};

/** Every literal in the arguments of a call of phrase(…). */
function asked(file: string): string[] {
  const code = readFileSync(join(PACKAGES, file), 'utf8');
  return [...code.matchAll(/\bphrase\(([^;{}]*?)\)/g)].flatMap(([, given]) =>
    [...(given ?? '').matchAll(/"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'/g)].map((one) => one[1] ?? one[2] ?? ''),
  );
}

const wanted = new Set(globSync('*/dist/index.js', { cwd: PACKAGES }).flatMap(asked));
const given = Object.keys(renderHook(() => usePhrases()).result.current);
const unused = Object.values(UNUSED).flatMap((one) => one.phrases);

describe('the phrases of editors', () => {
  it('are found', () => {
    for (const known of ['Find', 'replaced $ matches', 'Go to line', 'Folded lines', '$ unchanged lines'])
      expect(wanted).toContain(known);
  });

  it('have a text each, unless nobody uses what says them', () => {
    expect([...wanted].filter((one) => !given.includes(one) && !unused.includes(one))).toEqual([]);
    expect(given.filter((one) => !wanted.has(one) || unused.includes(one))).toEqual([]);
  });

  it('that have none are those of extensions that nobody uses', () => {
    const code = globSync('src/**/*.{ts,tsx}', { cwd: ROOT }).map((file) => readFileSync(join(ROOT, file), 'utf8'));
    const used = Object.keys(UNUSED).filter((name) => code.some((text) => UNUSED[name]?.by.test(text)));
    expect(used).toEqual([]);
  });

  for (const language of LANGUAGES) {
    it(`have a place for the same numbers in ${language}`, () => {
      const texts: Record<string, string> = JSON.parse(
        readFileSync(join(ROOT, `src/i18n/locales/${language}/code.json`), 'utf8'),
      );
      const numbered = Object.keys(texts).filter((key) => texts[key]?.includes('$'));
      expect(numbered.sort()).toEqual(['replaced', 'replacedAll', 'unchanged']);
    });
  }
});
