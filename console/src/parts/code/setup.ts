// What every code view has in common: our colours, line numbers, search and the nonce that the page's policy asks of
// styles. Loaded only with a view.

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search';
import { EditorState, type Extension } from '@codemirror/state';
import { EditorView, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { panels } from '@/parts/code/panels';
import type { Phrases } from '@/parts/code/usePhrases';

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: 'var(--orth-primary)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--orth-green)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--orth-orange)' },
  { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], color: 'var(--orth-blue)' },
  { tag: [tags.className, tags.typeName, tags.standard(tags.variableName)], color: 'var(--orth-teal)' },
  { tag: [tags.comment, tags.meta], color: 'var(--orth-muted)', fontStyle: 'italic' },
  { tag: tags.invalid, color: 'var(--orth-red)' },
]);

const look = EditorView.theme({
  '&': { height: '100%', backgroundColor: 'var(--orth-surface)', color: 'var(--orth-text)', fontSize: '12.5px' },
  '&.cm-focused': { outline: '2px solid var(--orth-primary)', outlineOffset: '-2px' },
  '.cm-scroller': { fontFamily: 'ui-monospace, "SF Mono", "Cascadia Mono", "Roboto Mono", Menlo, Consolas, monospace' },
  '.cm-content': { caretColor: 'var(--orth-text)' },
  '.cm-cursor': { borderLeftColor: 'var(--orth-text)' },
  '.cm-gutters': {
    backgroundColor: 'var(--orth-page)',
    color: 'var(--orth-muted)',
    borderRight: '1px solid var(--orth-border)',
  },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--orth-primary) 6%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, ::selection': {
    backgroundColor: 'color-mix(in srgb, var(--orth-primary) 28%, transparent)',
  },
  '&.cm-merge-a .cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--orth-red) 12%, transparent)' },
  '&.cm-merge-b .cm-changedLine': { backgroundColor: 'color-mix(in srgb, var(--orth-green) 12%, transparent)' },
});

function nonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
}

/** What is said, which changes with the language. */
export function wording(label: string, phrases: Phrases): Extension {
  return [EditorView.contentAttributes.of({ 'aria-label': label }), EditorState.phrases.of(phrases)];
}

/** For reading: colours and numbers. */
export function reading(): Extension[] {
  return [
    EditorView.cspNonce.of(nonce()),
    EditorView.contentAttributes.of({ tabindex: '0' }), // code that is only read is scrolled too
    lineNumbers(),
    look,
    panels,
    syntaxHighlighting(colours),
    highlightSelectionMatches(),
    keymap.of(searchKeymap),
  ];
}

/** For writing, as well. Tab indents; Escape and then Tab leaves, so that the keyboard is not caught. */
export function writing(): Extension[] {
  return [
    history(),
    indentOnInput(),
    bracketMatching(),
    highlightActiveLine(),
    keymap.of([indentWithTab, ...defaultKeymap, ...historyKeymap]),
  ];
}
