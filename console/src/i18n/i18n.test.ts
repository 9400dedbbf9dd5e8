import i18next from 'i18next';
import { setI18n } from 'react-i18next';
import { afterAll, expect, it } from 'vitest';
import { startTexts } from '@/i18n/i18n';

afterAll(() => setI18n(undefined as never)); // other tests draw the names of texts

it('spells out what turns or hides text in every name that stands in a text', async () => {
  await startTexts();
  i18next.addResource('en', 'common', 'asked', 'Create “{{job}}”?');
  const say = i18next.getFixedT('en', 'common') as unknown as (key: string, facts: object) => string;
  expect(say('asked', { job: 'typed 2 \u202ex' })).toBe('Create “typed 2 \\u202ex”?');
  expect(say('asked', { job: 'a <b> & "c" $t(asked) {{job}}' })).toContain('a <b> & "c"');
  expect(say('asked', { job: 'one\ntwo' })).toBe('Create “one\ntwo”?');
});
