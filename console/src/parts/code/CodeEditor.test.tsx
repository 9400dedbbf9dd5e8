import { undo } from '@codemirror/commands';
import { openSearchPanel, SearchQuery, setSearchQuery } from '@codemirror/search';
import { EditorView } from '@codemirror/view';
import { act, cleanup, render, screen, waitFor } from '@testing-library/react';
import { createInstance, type i18n } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it, vi } from 'vitest';
import en from '@/i18n/locales/en/code.json';
import fr from '@/i18n/locales/fr/code.json';
import zh from '@/i18n/locales/zh-CN/code.json';
import CodeEditor from '@/parts/code/CodeEditor';

afterEach(cleanup);

async function opened(onChange?: (value: string) => void): Promise<{ i18n: i18n; view: EditorView }> {
  const i18n = createInstance();
  await i18n.init({ lng: 'en', resources: { en: { code: en }, fr: { code: fr }, 'zh-CN': { code: zh } } });
  const { container } = render(
    <I18nextProvider i18n={i18n}>
      <CodeEditor value={'one\ntwo\none\n'} kind="GLUE_PHP" label="Code" onChange={onChange} />
    </I18nextProvider>,
  );
  const view = EditorView.findFromDOM(container.querySelector('.cm-editor') as HTMLElement);
  if (!view) throw new Error('There is no editor.');
  act(() => {
    openSearchPanel(view);
  });
  return { i18n, view };
}

/** What its panel says and is called. */
function said(view: EditorView): string[] {
  const panel = view.dom.querySelector('.cm-search');
  const parts = [...(panel?.querySelectorAll('label, button, input:not([type=checkbox])') ?? [])];
  return parts.map((one) => one.getAttribute('aria-label') ?? one.textContent ?? '');
}

function words({
  find,
  next,
  previous,
  all,
  case: exact,
  regex,
  word,
  replaceBy,
  replace,
  replaceAll,
  close,
}: typeof en) {
  return [find, next, previous, all, exact, regex, word, replaceBy, replace, replaceAll, close];
}

it('finds and replaces in the language of the page', async () => {
  const { i18n, view } = await opened(() => {});
  expect(said(view)).toEqual(words(en));
  for (const [language, texts] of Object.entries({ fr, 'zh-CN': zh })) {
    await act(() => i18n.changeLanguage(language));
    await waitFor(() => expect(said(view)).toEqual(words(texts)));
    expect(screen.getByPlaceholderText(texts.find)).toBeTruthy();
  }
});

it('keeps what was typed, what is looked for and what can be undone when the language changes', async () => {
  const onChange = vi.fn();
  const { i18n, view } = await opened(onChange);
  act(() => {
    view.dispatch({ effects: setSearchQuery.of(new SearchQuery({ search: 'two', caseSensitive: true })) });
    view.dispatch({ changes: { from: 0, insert: 'zero\n' }, selection: { anchor: 2 } });
  });
  await act(() => i18n.changeLanguage('fr'));
  await waitFor(() => expect(said(view)).toEqual(words(fr)));
  expect(view.state.doc.toString()).toBe('zero\none\ntwo\none\n');
  expect(view.state.selection.main.head).toBe(2);
  expect(screen.getByRole<HTMLInputElement>('textbox', { name: fr.find }).value).toBe('two');
  expect(screen.getByRole<HTMLInputElement>('checkbox', { name: fr.case }).checked).toBe(true);
  expect(onChange).toHaveBeenCalledTimes(1);
  act(() => {
    undo(view);
  });
  expect(onChange).toHaveBeenLastCalledWith('one\ntwo\none\n');
});

it('that can only be read finds, and offers no replacing', async () => {
  const { i18n, view } = await opened();
  await act(() => i18n.changeLanguage('fr'));
  await waitFor(() => expect(said(view)).toContain(fr.find));
  expect(said(view)).not.toContain(fr.replace);
});
