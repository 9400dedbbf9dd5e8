// Cron expressions in words, in the language of the page. The words of a language are loaded when they are needed.

import { useEffect, useState } from 'react';
import { usePreference } from '@/app/preferences';
import type { Language } from '@/i18n/languages';

type Cronstrue = typeof import('cronstrue').default;
export type CronWords = (expression: string) => string | null;

const LOCALES: Record<Language, string> = { en: 'en', 'zh-CN': 'zh_CN', fr: 'fr' };
const EXTRA: Record<Language, () => Promise<unknown>> = {
  en: async () => {},
  'zh-CN': () => import('cronstrue/locales/zh_CN'),
  fr: () => import('cronstrue/locales/fr'),
};

/** The expression in words, or null where there are none for it. The server alone says whether it is good. */
export function cronWords(cronstrue: Cronstrue, language: Language, expression: string): string | null {
  const fields = expression.trim().split(/\s+/).length;
  if (fields < 5) return null;
  try {
    return cronstrue.toString(expression, {
      locale: LOCALES[language],
      use24HourTimeFormat: true,
      dayOfWeekStartIndexZero: fields === 5, // in the Quartz dialect Sunday is 1
    });
  } catch {
    return null;
  }
}

export async function loadCronWords(language: Language): Promise<CronWords> {
  const cronstrue = (await import('cronstrue')).default;
  await EXTRA[language]();
  return (expression) => cronWords(cronstrue, language, expression);
}

/** Nothing has words until they are loaded. */
export function useCronWords(): CronWords {
  const [language] = usePreference('language');
  const [words, setWords] = useState<{ say: CronWords }>({ say: () => null });
  useEffect(() => {
    let current = true;
    void loadCronWords(language).then((say) => current && setWords({ say }));
    return () => {
      current = false;
    };
  }, [language]);
  return words.say;
}
