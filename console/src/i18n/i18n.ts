// Texts, one file for each language and page. A page names its file in useTranslation; that of the page itself is loaded
// with it (app/pages), so that nothing is drawn twice.

import i18next, { type BackendModule, type FlatNamespace } from 'i18next';
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

let started: Promise<unknown> | undefined;

export async function startTexts(): Promise<void> {
  started ??= i18next
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
  await started;
}

/** Have the texts of a page. What cannot be loaded now is asked for again when it is drawn. */
export async function loadTexts(texts: readonly FlatNamespace[]): Promise<void> {
  await startTexts();
  await i18next.loadNamespaces(texts).catch(() => {});
}

/** Show everything in another language. */
export async function speak(language: string): Promise<void> {
  // The same again would have every text drawn anew.
  if (i18next.language !== language) await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}
