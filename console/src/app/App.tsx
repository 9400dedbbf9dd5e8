import { QueryClientProvider } from '@tanstack/react-query';
import { App as AntdApp, ConfigProvider } from 'antd';
import type { Locale } from 'antd/es/locale';
import { Suspense, useEffect, useState } from 'react';
import { RouterProvider } from 'react-router';
import { usePreference } from '@/app/preferences';
import { makeQueries } from '@/app/queries';
import { makeRouter } from '@/app/router';
import { Waiting } from '@/app/Waiting';
import { speak } from '@/i18n/i18n';
import type { Language } from '@/i18n/languages';
import { AddressNow } from '@/parts/useUrlFilters';
import { antdTheme } from '@/theme/antd';
import { useStillness, useTheme } from '@/theme/useTheme';

const queries = makeQueries();
const router = makeRouter(queries);
const addressNow = () => router.state.navigation.location ?? router.state.location;

/** No space between two Chinese characters: only some kinds of buttons would have it. */
const PLAIN = { autoInsertSpace: false };

/** Ant Design's own words, loaded with the language. */
const LOCALES: Record<Language, () => Promise<{ default: Locale }>> = {
  en: () => import('antd/es/locale/en_US'),
  'zh-CN': () => import('antd/es/locale/zh_CN'),
  fr: () => import('antd/es/locale/fr_FR'),
};

export async function localeOf(language: Language): Promise<Locale> {
  return (await LOCALES[language]()).default;
}

export function App({ nonce, first }: { nonce: string; first: Locale }) {
  const theme = useTheme();
  const still = useStillness();
  const [language] = usePreference('language');
  const [locale, setLocale] = useState(first);
  useEffect(() => {
    let current = true;
    void speak(language);
    localeOf(language).then(
      (loaded) => current && setLocale(loaded),
      () => {}, // the words of the language before are better than none
    );
    return () => {
      current = false;
    };
  }, [language]);
  return (
    <ConfigProvider theme={antdTheme(theme, still)} csp={{ nonce }} locale={locale} button={PLAIN}>
      <AntdApp component={false}>
        <QueryClientProvider client={queries}>
          <Suspense fallback={<Waiting />}>
            <AddressNow value={addressNow}>
              <RouterProvider router={router} />
            </AddressNow>
          </Suspense>
        </QueryClientProvider>
      </AntdApp>
    </ConfigProvider>
  );
}
