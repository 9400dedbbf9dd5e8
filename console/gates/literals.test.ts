// Whatever people read is in the files of texts: a word that stands in the code itself is in no other language.

import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import { expect, it } from 'vitest';

const SOURCE = join(import.meta.dirname, '../src');

/** Attributes that people see or hear. */
const SAID =
  /^(aria-(label|description|placeholder|roledescription|valuetext)|title|alt|placeholder|label|description|(ok|cancel)Text|extra|help|tooltip|message|suffix|prefix|addon(Before|After))$/;

/** What is the same in every language: signs of keys and units, commands, and what is typed. */
const SAME = new Set([
  ...['Orth', 'Enter', 'Esc', 'Ctrl K', 'ms', 'orth audit verify', 'orth script allow'],
  ...['team@example.org', 'zone=eu,gpu', 'https://', 'ntfy://…', 'Authorization'],
]);

const { AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken } = ts.SyntaxKind;
const EITHER = new Set<ts.SyntaxKind>([AmpersandAmpersandToken, BarBarToken, QuestionQuestionToken]);

function wordsIn(text: string): boolean {
  return /\p{L}{2}/u.test(text) && !SAME.has(text.trim());
}

function literalsIn(code: string): string[] {
  const found: string[] = [];
  const note = (text: string) => wordsIn(text) && found.push(text.trim());
  function walk(node: ts.Node): void {
    if (ts.isJsxText(node)) note(node.text);
    if (ts.isJsxAttribute(node) && SAID.test(node.name.getText()) && node.initializer) noteValue(node.initializer);
    if (ts.isJsxExpression(node) && !ts.isJsxAttribute(node.parent) && node.expression) noteValue(node.expression);
    node.forEachChild(walk);
  }
  /** The texts that a value may be: those of both branches of a condition too. */
  function noteValue(node: ts.Node): void {
    if (ts.isStringLiteralLike(node)) note(node.text);
    else if (ts.isTemplateExpression(node)) {
      for (const part of [node.head, ...node.templateSpans.map(({ literal }) => literal)]) note(part.text);
    } else if (ts.isConditionalExpression(node)) [node.whenTrue, node.whenFalse].forEach(noteValue);
    else if (ts.isBinaryExpression(node) && EITHER.has(node.operatorToken.kind)) {
      for (const side of [node.left, node.right]) noteValue(side);
    } else if (ts.isJsxExpression(node) && node.expression) noteValue(node.expression);
  }
  walk(ts.createSourceFile('one.tsx', code, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return found;
}

it('finds words in elements and in what is said of them', () => {
  const code = `<p title="To me">Hand offs <b aria-label={on ? 'Do this' : t('not')}>{t('on')} · {many || 'None'}</b></p>`;
  expect(literalsIn(code)).toEqual(['To me', 'Hand offs', 'Do this', 'None']);
  expect(literalsIn(`<p className="muted" key="one">{t('on')} · <code>{\`\${from}–\${to}\`}</code></p>`)).toEqual([]);
});

it('no words stand in the code of pages', () => {
  const files = globSync('**/*.tsx', { cwd: SOURCE }).filter((file) => !file.includes('.test.'));
  const found = files.flatMap((file) =>
    literalsIn(readFileSync(join(SOURCE, file), 'utf8')).map((text) => `${file}: ${text}`),
  );
  expect(files.length).toBeGreaterThan(100);
  expect(found).toEqual([]);
});
