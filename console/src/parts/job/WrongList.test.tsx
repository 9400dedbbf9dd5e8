import { cleanup, render } from '@testing-library/react';
import { createInstance } from 'i18next';
import { I18nextProvider } from 'react-i18next';
import { afterEach, expect, it } from 'vitest';
import en from '@/i18n/locales/en/jobs.json';
import fr from '@/i18n/locales/fr/jobs.json';
import zh from '@/i18n/locales/zh-CN/jobs.json';
import { formOf, wrongWith } from '@/parts/job/schema';
import { WrongList } from '@/parts/job/WrongList';

afterEach(cleanup);

const TEXTS = { en: { jobs: en }, fr: { jobs: fr }, 'zh-CN': { jobs: zh } };
const FORM = formOf({
  properties: { opts: { type: 'object', additionalProperties: { items: { type: 'integer' }, type: 'array' } } },
});

it.each([
  ['en', '“a” › value 2: must be a number'],
  ['fr', '« a » › valeur 2 : doit être un nombre'],
  ['zh-CN', '“a” › 第 2 个值：必须是数字'],
])('says in %s where within an argument something is wrong', (lng, text) => {
  const i18n = createInstance();
  i18n.init({ lng, resources: TEXTS, initAsync: false, interpolation: { escapeValue: false } });
  const { container } = render(
    <I18nextProvider i18n={i18n}>
      <WrongList wrong={wrongWith(FORM, '{"opts":{"a":[1,"x"]}}')} />
    </I18nextProvider>,
  );
  expect(container.textContent).toBe(`opts: ${text}`);
});
