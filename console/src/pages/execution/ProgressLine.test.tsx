import { cleanup, render } from '@testing-library/react';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import en from '@/i18n/locales/en/execution.json';
import fr from '@/i18n/locales/fr/execution.json';
import zh from '@/i18n/locales/zh-CN/execution.json';
import { ProgressLine } from '@/pages/execution/ProgressLine';

afterEach(cleanup);

const TEXTS = { en: { execution: en }, fr: { execution: fr }, 'zh-CN': { execution: zh } };

function shown(message: string, lng = 'en', eta: number | null = null): string | null {
  const i18n = createInstance();
  i18n.init({ lng, resources: TEXTS, initAsync: false });
  const { container } = render(
    <I18nextProvider i18n={i18n}>
      <ProgressLine progress={{ done: 6, total: 60, message, eta }} />
    </I18nextProvider>,
  );
  return container.querySelector('.muted')?.textContent ?? null;
}

it.each([
  ['en', 'step 6 · 6 of 60'],
  ['fr', 'step 6 · 6 sur 60'],
  ['zh-CN', 'step 6 · 6 / 60'],
])('keeps in %s what was said apart from the count', (language, text) => {
  expect(shown('step 6', language)).toBe(text);
});

it('begins with what there is', () => {
  expect(shown('')).toBe('6 of 60');
  expect(shown('', 'en', 27)).toMatch(/^6 of 60 · about 27/);
});
