export const LANGUAGES = ['en', 'zh-CN', 'fr'] as const;

export type Language = (typeof LANGUAGES)[number];

/** Each language by its own name: people look for theirs. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', 'zh-CN': '简体中文', fr: 'Français' };

/** What is said when not even the texts could be fetched. */
export const NOT_LOADED: Record<Language, string> = {
  en: 'The console could not be loaded. Reload the page.',
  'zh-CN': '控制台无法加载。请重新加载页面。',
  fr: 'La console n’a pas pu être chargée. Rechargez la page.',
};

/** The first of the languages that somebody prefers, in their order, that is spoken here. */
export function firstSpoken(preferred: readonly string[]): Language {
  for (const one of preferred) {
    const spoken = LANGUAGES.find((language) => primary(language) === primary(one));
    if (spoken) return spoken;
  }
  return 'en';
}

function primary(tag: string): string | undefined {
  return tag.toLowerCase().split('-')[0];
}
