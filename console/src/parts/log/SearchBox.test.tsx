import { cleanup, render, screen } from '@testing-library/react';
import { createInstance } from 'i18next';
import { createRef } from 'react';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import en from '@/i18n/locales/en/log.json';
import fr from '@/i18n/locales/fr/log.json';
import zh from '@/i18n/locales/zh-CN/log.json';
import type { SearchState } from '@/parts/log/LogSearch';
import { SearchBox } from '@/parts/log/SearchBox';

afterEach(cleanup);

const TEXTS = { en: { log: en }, fr: { log: fr }, 'zh-CN': { log: zh } };
const FOUND: SearchState = {
  query: { text: 'x', regex: false, ignoreCase: false },
  matches: [1, 2, 3, 4].map((line) => ({ line, text: 'x', offset: 0, start: 0, end: 1 })),
  toLine: 900,
  busy: true,
  caughtUp: false,
  end: false,
  lacking: false,
  error: null,
};

function said(state: Partial<SearchState>, current = 0, lng = 'en'): string | null {
  const i18n = createInstance();
  i18n.init({ lng, resources: TEXTS, initAsync: false });
  render(
    <I18nextProvider i18n={i18n}>
      <SearchBox
        ref={createRef()}
        within={false}
        state={{ ...FOUND, ...state }}
        current={current}
        onSearch={() => {}}
        onStep={() => {}}
      />
    </I18nextProvider>,
  );
  const text = screen.getByRole('status').textContent; // which is read out without hurry
  cleanup();
  return text;
}

it('says while a search goes on that the count is not the last one', () => {
  expect(said({})).toBe('1 of 4 so far, searching…');
  expect(said({}, -1)).toBe('4 found so far, searching…');
  expect(said({}, 0, 'fr')).toBe('1 sur 4 jusqu’ici, recherche…');
  expect(said({}, 0, 'zh-CN')).toBe('第 1 个，目前共 4 个，正在搜索…');
  expect(said({ matches: [] })).toBe('Searching…');
});

it('says it as final when all was looked at, and does not begin anew with every line that is written', () => {
  expect(said({ busy: false, caughtUp: true, end: true })).toBe('1 of 4');
  expect(said({ busy: false })).toBe('1 of 4+');
  expect(said({ caughtUp: true })).toBe('1 of 4+');
  expect(said({ caughtUp: true, matches: [] })).toBe('Nothing found');
});

it('shows what the address asks for, also where somebody goes back to it', () => {
  const i18n = createInstance();
  i18n.init({ lng: 'en', resources: TEXTS, initAsync: false });
  const box = (query: SearchState['query']) => (
    <I18nextProvider i18n={i18n}>
      <SearchBox
        ref={createRef()}
        within={false}
        state={{ ...FOUND, query }}
        current={0}
        onSearch={() => {}}
        onStep={() => {}}
      />
    </I18nextProvider>
  );
  const shown = () => [
    (screen.getByRole('textbox') as HTMLInputElement).value,
    ...['Match case', 'Regular expression'].map((name) =>
      screen.getByRole('button', { name }).getAttribute('aria-pressed'),
    ),
  ];
  const { rerender } = render(box({ text: '^a', regex: true, ignoreCase: false }));
  expect(shown()).toEqual(['^a', 'true', 'true']);
  rerender(box({ text: 'b', regex: false, ignoreCase: true }));
  expect(shown()).toEqual(['b', 'false', 'false']);
  rerender(box(null));
  expect(shown()).toEqual(['', 'false', 'false']);
});
