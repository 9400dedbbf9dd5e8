// Texts, one file for each language and page. A page names its file in useTranslation and it is loaded with the page.

import i18next, { type BackendModule } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { preference } from '@/app/preferences';
import { LANGUAGES } from '@/i18n/languages';

const files = import.meta.glob<{ default: Record<string, unknown> }>('./locales/*/*.json');

const fromFiles: BackendModule = {
  type: 'backend',
  init: () => {},
  read: (language, namespace, done) => {
    const load = files[`./locales/${language}/${namespace}.json`];
    if (!load) return done(new Error(`There are no texts for ${language}/${namespace}.`), false);
    load().then(
      (file) => done(null, file.default as never),
      (error: Error) => done(error, false),
    );
  },
};

export async function startTexts(): Promise<void> {
  await i18next
    .use(fromFiles)
    .use(initReactI18next)
    .init({
      lng: preference('language'),
      supportedLngs: [...LANGUAGES],
      fallbackLng: false,
      load: 'currentOnly',
      ns: ['common', 'status'],
      defaultNS: 'common',
      interpolation: { escapeValue: false },
      returnNull: false,
    });
}

/** Show everything in another language. */
export async function speak(language: string): Promise<void> {
  await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}
