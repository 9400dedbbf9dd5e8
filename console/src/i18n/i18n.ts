// Texts, one file for each language and page. A page names its file in useTranslation; that of the page itself is loaded
// with it (app/pages), so that nothing is drawn twice.

import i18next, { type BackendModule, type FlatNamespace } from 'i18next';
import { initReactI18next } from 'react-i18next';
import { once } from '@/app/files';
import { preference } from '@/app/preferences';
import { LANGUAGES } from '@/i18n/languages';
import { visibleLines } from '@/parts/log/ansi';

const files = import.meta.glob<{ default: Record<string, unknown> }>('./locales/*/*.json');

const AGAIN = 1_000;
const AGAIN_AT_MOST = 15_000;

/** What could not be fetched, and is asked for again and again. */
const lost = new Set<string>();
const listeners = new Set<() => void>();

export function whenTextsChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function textsAreLost(): boolean {
  return lost.size > 0;
}

function note(change: () => void): void {
  change();
  for (const listener of listeners) listener();
}

async function fileOf(language: string, namespace: string): Promise<Record<string, unknown>> {
  const load = files[`./locales/${language}/${namespace}.json`];
  if (!load) throw new Error(`There are no texts for ${language}/${namespace}.`);
  return (await load()).default;
}

/** To fail would have the names of texts drawn in their place: whoever needs them waits until they are there. */
const fromFiles: BackendModule = {
  type: 'backend',
  init: () => {},
  read: (language, namespace, done) => {
    const name = `${language}/${namespace}`;
    const ask = (pause: number) =>
      fileOf(language, namespace).then(
        (texts) => {
          note(() => lost.delete(name));
          done(null, texts as never);
        },
        () => {
          note(() => lost.add(name));
          setTimeout(() => ask(Math.min(2 * pause, AGAIN_AT_MOST)), pause);
        },
      );
    void ask(AGAIN);
  },
};

const ALWAYS = ['common', 'status'] as const;

export const startTexts = once(async () => {
  const lng = preference('language');
  await Promise.all(ALWAYS.map((namespace) => fileOf(lng, namespace))); // without them nothing can be said at all
  await i18next
    .use(fromFiles)
    .use(initReactI18next)
    .init({
      lng,
      supportedLngs: [...LANGUAGES],
      fallbackLng: false,
      load: 'currentOnly',
      ns: [...ALWAYS],
      defaultNS: 'common',
      // React escapes what is HTML. What stands in a text is often a name: one that turns or hides what is beside it, such
      // as the question of a dialog, is spelled out wherever it is said.
      interpolation: { escapeValue: true, escape: visibleLines },
      returnNull: false,
    });
});

/** Have the texts of a page, or fail: a page is not drawn without them. */
export async function loadTexts(texts: readonly FlatNamespace[]): Promise<void> {
  await startTexts();
  await Promise.all(texts.map((namespace) => fileOf(i18next.language, String(namespace))));
  await i18next.loadNamespaces(texts);
}

/** Show everything in another language. */
export async function speak(language: string): Promise<void> {
  // The same again would have every text drawn anew.
  if (i18next.language !== language) await i18next.changeLanguage(language);
  document.documentElement.lang = language;
}
