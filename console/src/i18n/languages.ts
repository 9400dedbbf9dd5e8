export const LANGUAGES = ['en', 'zh-CN', 'fr'] as const;

export type Language = (typeof LANGUAGES)[number];

/** Each language by its own name: people look for theirs. */
export const LANGUAGE_NAMES: Record<Language, string> = { en: 'English', 'zh-CN': '简体中文', fr: 'Français' };
