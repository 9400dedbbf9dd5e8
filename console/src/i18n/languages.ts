export const LANGUAGES = ['en', 'zh-CN', 'fr'] as const;

export type Language = (typeof LANGUAGES)[number];

/** Each language by its own name: people look for theirs. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', 'zh-CN': '简体中文', fr: 'Français' };

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
