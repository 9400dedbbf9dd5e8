import { cleanup, render, screen } from '@testing-library/react';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import { Problem } from '@/api/problem';
import en from '@/i18n/locales/en/common.json';
import fr from '@/i18n/locales/fr/common.json';
import { ProblemNotice } from '@/parts/ProblemNotice';

const BODY = { type: 'urn:orth:problem:conflict', title: 'Conflict', status: 409, detail: 'As the server says.' };

async function shown(language: string, said: object): Promise<string> {
  const i18n = createInstance();
  await i18n.init({
    lng: language,
    resources: { en: { common: en }, fr: { common: fr } },
    defaultNS: 'common',
    interpolation: { escapeValue: false },
  });
  render(
    <I18nextProvider i18n={i18n}>
      <ProblemNotice error={new Problem({ ...BODY, ...said })} />
    </I18nextProvider>,
  );
  return screen.getByRole('alert').textContent ?? '';
}

afterEach(cleanup);

it('says a problem with a code in the language of the page, with what to do next', async () => {
  const text = await shown('fr', { code: 'no_schedule', facts: { job: 7 }, hint: 'Give it one.' });
  expect(text).toContain('La tâche 7 n’a pas de planification (NONE)');
  expect(text).toContain('Donnez-lui-en une');
  expect(text).not.toContain('As the server says.');
});

it('names the thing that is not there in the language of the page', async () => {
  expect(await shown('fr', { code: 'not_found', facts: { what: 'job', key: '7' } })).toContain('tâche 7');
  cleanup();
  expect(await shown('fr', { code: 'not_found', facts: { what: 'handler', key: 'x' } })).toContain('handler x');
});

it('leaves the words of the server where it knows no others', async () => {
  expect(await shown('fr', { hint: 'Do this.' })).toContain('As the server says.Do this.');
  cleanup();
  expect(await shown('fr', { code: 'from_the_future', facts: {} })).toContain('As the server says.');
  cleanup();
  const own = { code: 'unknown_handler', facts: { group: 'demo', handler: 'x' }, hint: 'Known: y.' };
  expect(await shown('en', own)).toContain("No executor of demo has a handler 'x'.Known: y.");
});
