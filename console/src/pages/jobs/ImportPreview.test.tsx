import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, render } from '@testing-library/react';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { MemoryRouter } from 'react-router';
import { afterEach, expect, it } from 'vitest';
import type { Taken, TakenOne } from '@/api/types';
import common from '@/i18n/locales/fr/common.json';
import jobEditor from '@/i18n/locales/fr/jobEditor.json';
import jobs from '@/i18n/locales/fr/jobs.json';
import { ImportPreview } from '@/pages/jobs/ImportPreview';

const TURNED: Partial<TakenOne> = {
  place: 0,
  job_id: null,
  job_group: 'stories',
  job_desc: 'Pay \u202e0001 sruoh yreve\u202c ok',
  fate: 'refuse',
  field: 'job_desc',
  code: 'field_one_line',
  facts: {},
  detail: 'job_desc: must be one line of printable characters',
  hint: null,
  changes: [],
};

async function shown(one: Partial<TakenOne>): Promise<string> {
  const i18n = createInstance();
  await i18n.init({ lng: 'fr', resources: { fr: { common, jobEditor, jobs } } });
  const would = { created: 0, changed: 0, same: 0, refused: 1, items: [one] } as unknown as Taken;
  const { container } = render(
    <I18nextProvider i18n={i18n}>
      <QueryClientProvider client={new QueryClient()}>
        <MemoryRouter>
          <ImportPreview would={would} />
        </MemoryRouter>
      </QueryClientProvider>
    </I18nextProvider>,
  );
  return container.textContent ?? '';
}

afterEach(cleanup);

it('spells out what turns a name around, and names the field in the language of the page', async () => {
  const text = await shown(TURNED);
  expect(text).toContain('Pay \\u202e0001 sruoh yreve\\u202c ok');
  expect(text).not.toMatch(/[\u202a-\u202e]/);
  expect(text).toContain('Nom : Doit être une seule ligne de caractères imprimables.');
  expect(text).not.toContain('job_desc');
});

it('does so in what the server says itself', async () => {
  const text = await shown({ ...TURNED, code: null, detail: 'no handler \u202egnp.exe' });
  expect(text).toContain('no handler \\u202egnp.exe');
});
