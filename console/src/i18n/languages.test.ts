import { expect, it } from 'vitest';
import { firstSpoken } from '@/i18n/languages';

it('speaks the language a person prefers, though another they know comes first here', () => {
  expect(firstSpoken(['fr-CH', 'en', 'zh'])).toBe('fr');
  expect(firstSpoken(['zh-TW', 'en-US'])).toBe('zh-CN');
  expect(firstSpoken(['de', 'fr', 'en'])).toBe('fr');
  expect(firstSpoken(['en-GB', 'fr'])).toBe('en');
  expect(firstSpoken(['de'])).toBe('en');
});
