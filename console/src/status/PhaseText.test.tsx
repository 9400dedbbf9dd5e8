import { cleanup, render } from '@testing-library/react';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import type { Execution } from '@/api/types';
import en from '@/i18n/locales/en/status.json';
import fr from '@/i18n/locales/fr/status.json';
import zh from '@/i18n/locales/zh-CN/status.json';
import { PhaseText } from '@/status/PhaseText';

afterEach(cleanup);

const TEXTS = { en: { status: en }, fr: { status: fr }, 'zh-CN': { status: zh } };
const TAKEN = { status: 'pending', phase: 'dispatched', queue_position: null, start_time: null } as Execution;

function shown(execution: Execution, lng = 'en'): string | null {
  const i18n = createInstance();
  i18n.init({ lng, resources: TEXTS, initAsync: false });
  const { container } = render(
    <I18nextProvider i18n={i18n}>
      <PhaseText execution={execution} />
    </I18nextProvider>,
  );
  return container.textContent;
}

it.each([
  ['en', 'queued, place 2'],
  ['fr', 'en file, place 2'],
  ['zh-CN', '排队中（第 2 位）'],
])('says in %s which place one has that waits its turn', (language, text) => {
  expect(shown({ ...TAKEN, queue_position: 2 }, language)).toBe(text);
});

it('tells one that does not wait as taken, and one whose log tells that it runs as running', () => {
  expect(shown(TAKEN)).toBe('taken by the executor');
  expect(shown({ ...TAKEN, phase: 'running', queue_position: 1 })).toBe('running');
});
