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

it('speaks of the form, and not of the parameters of the API', async () => {
  const facts = { group: 'demo', handler: 'x', names: 'y, z' };
  const text = await shown('fr', { code: 'unknown_handler', facts });
  expect(text).toContain('Aucun exécuteur de demo n’a');
  expect(text).toContain('Connus : y, z. Pour l’enregistrer quand même, cochez la case prévue.');
  cleanup();
  expect(await shown('en', { code: 'handler_needed', facts: {} })).not.toContain('super_task_id');
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
  const own = { code: 'no_job_here', facts: { group: 'demo', job: 'x' }, hint: 'Known: y.' };
  expect(await shown('en', own)).toContain("There is no job 'x' in 'demo'.Known: y.");
});

it('writes large numbers as the language of the page does', async () => {
  const facts = { size: 1234567, limit: 65536 };
  expect(await shown('en', { code: 'code_too_large', facts })).toContain('1,234,567 bytes; 65,536 are allowed');
  cleanup();
  expect(await shown('fr', { code: 'code_too_large', facts })).toMatch(/a 1\s234\s567 octets ; 65\s536 sont permis/);
});

it('says what is wrong with fields', async () => {
  const errors = [
    {
      field: 'job_desc',
      message: 'String should have at most 255 characters',
      code: 'field_too_long',
      facts: { limit: 255 },
    },
    { field: 'definition.url', message: 'must not be p and a digit' },
    { field: 'definition.headers.0', message: 'As the server says.', code: 'field_too_long', facts: { limit: 9 } },
    { field: 'label_selector', message: 'As the server says.', code: 'selector_gap', facts: {} },
  ];
  const text = await shown('fr', { code: 'invalid_request', facts: {}, errors });
  expect(text).toContain('La demande ne peut pas être acceptée.');
  expect(text).toContain('job_desc : Au plus 255 caractères.');
  expect(text).toContain('URL : must not be p and a digit');
  expect(text).toContain('En-têtes : Au plus 9 caractères.');
  expect(text).toContain('label_selector : Il manque une condition entre deux virgules. Écrivez zone=eu');
});

it('names the field of a cron expression in the language of the page', async () => {
  const facts = { part: 'day-of-month', number: '40', low: 1, high: 31 };
  const text = await shown('fr', { code: 'cron_outside', facts });
  expect(text).toContain('jour du mois : 40 est hors de 1-31.');
  expect(text).toContain('Écrivez un nombre de 1 à 31.');
});

it('offers to try again what may work the next time, and not what one may not do', () => {
  const offered = (status: number) => {
    render(<ProblemNotice error={new Problem({ ...BODY, status })} retry={() => {}} />);
    const found = screen.queryAllByRole('button').length;
    cleanup();
    return found;
  };
  expect([offered(503), offered(403)]).toEqual([1, 0]);
});
