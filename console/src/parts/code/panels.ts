// How what opens below code looks, in both themes: to find, to replace, to go to a line. And what was found.

import type { Extension } from '@codemirror/state';
import { EditorView } from '@codemirror/view';

/** So high and wide at least, that one hits what one means. */
const TARGET = '24px';

const found = (width: string) => ({
  backgroundColor: 'color-mix(in srgb, var(--orth-orange) 10%, transparent)',
  outline: `${width} solid var(--orth-orange)`,
  outlineOffset: '-1px',
});

const field = {
  minHeight: TARGET,
  padding: '1px 8px',
  fontSize: 'inherit',
  color: 'var(--orth-text)',
  backgroundColor: 'var(--orth-surface)',
  border: '1px solid var(--orth-border)',
  borderRadius: '6px',
};

const closing = {
  top: '4px',
  right: '8px',
  minWidth: TARGET,
  minHeight: TARGET,
  padding: '0',
  fontSize: '16px',
  lineHeight: '1',
  color: 'var(--orth-muted)',
  backgroundColor: 'transparent',
  borderRadius: '4px',
  cursor: 'pointer',
};

const underPointer = { color: 'var(--orth-primary)', borderColor: 'var(--orth-primary)', backgroundImage: 'none' };

export const panels: Extension = EditorView.theme({
  '.cm-panels': {
    color: 'var(--orth-text)',
    backgroundColor: 'var(--orth-page)',
    fontFamily: 'inherit',
    fontSize: '13px',
  },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--orth-border)' },
  '.cm-panel.cm-search': { padding: '4px 40px 4px 10px' },
  '.cm-panel.cm-search input, .cm-panel.cm-search button, .cm-panel.cm-search label': {
    margin: '3px 8px 3px 0',
    verticalAlign: 'middle',
  },
  '.cm-panel.cm-search label': {
    display: 'inline-flex',
    alignItems: 'center',
    minHeight: TARGET,
    fontSize: 'inherit',
    cursor: 'pointer',
  },
  '.cm-dialog.cm-goto-line': { padding: '7px 40px 7px 10px', fontSize: 'inherit' },
  '.cm-dialog.cm-goto-line label': { marginRight: '4px', fontSize: 'inherit' },
  '.cm-textfield': { ...field, width: '24ch', maxWidth: '100%' },
  '.cm-textfield::placeholder': { color: 'var(--orth-muted)', opacity: '1' },
  '.cm-goto-line .cm-textfield': { width: '12ch' },
  '.cm-button': { ...field, padding: '1px 10px', backgroundImage: 'none', cursor: 'pointer' },
  '.cm-button:hover, .cm-button:active': underPointer,
  // The box that is seen is smaller than what can be hit.
  '.cm-panel.cm-search input[type=checkbox]': {
    appearance: 'none',
    display: 'inline-grid',
    placeContent: 'center',
    width: TARGET,
    height: TARGET,
    margin: '0 2px 0 0',
    borderRadius: '4px',
    cursor: 'pointer',
  },
  '.cm-search input[type=checkbox]::before': {
    content: '""',
    boxSizing: 'border-box',
    width: '16px',
    height: '16px',
    fontSize: '12px',
    lineHeight: '14px',
    textAlign: 'center',
    backgroundColor: 'var(--orth-surface)',
    border: '1px solid var(--orth-muted)',
    borderRadius: '4px',
  },
  '.cm-search input[type=checkbox]:checked::before': {
    content: '"✓"',
    color: 'var(--orth-on-primary)',
    backgroundColor: 'var(--orth-primary)',
    borderColor: 'var(--orth-primary)',
  },
  '.cm-panel.cm-search [name=close]': { ...closing, margin: '0' },
  '.cm-dialog.cm-goto-line .cm-dialog-close': closing,
  '.cm-searchMatch': found('1px'),
  '.cm-searchMatch.cm-searchMatch-selected': found('2px'),
  '.cm-selectionMatch': { backgroundColor: 'color-mix(in srgb, var(--orth-blue) 10%, transparent)' },
  '.cm-collapsedLines': { color: 'var(--orth-muted)', background: 'var(--orth-hover)' },
});
