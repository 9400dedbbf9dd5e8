// What a person can choose before signing in, and from the top bar: language and theme.

import { BgColorsOutlined, GlobalOutlined, MoonOutlined, SunOutlined } from '@ant-design/icons';
import { Button, Dropdown } from 'antd';
import { useTranslation } from 'react-i18next';
import { usePreference } from '@/app/preferences';
import { LANGUAGE_NAMES, LANGUAGES, type Language } from '@/i18n/languages';

export function LanguageChoice() {
  const { t } = useTranslation('common');
  const [language, choose] = usePreference('language');
  const items = LANGUAGES.map((one) => ({ key: one, label: <span lang={one}>{LANGUAGE_NAMES[one]}</span> }));
  return (
    <Dropdown
      trigger={['click']}
      menu={{ items, selectable: true, selectedKeys: [language], onClick: ({ key }) => choose(key as Language) }}
    >
      <Button type="text" icon={<GlobalOutlined />} aria-label={`${t('language')}: ${LANGUAGE_NAMES[language]}`}>
        <span lang={language}>{LANGUAGE_NAMES[language]}</span>
      </Button>
    </Dropdown>
  );
}

const THEMES = [
  { key: 'system', icon: <BgColorsOutlined /> },
  { key: 'light', icon: <SunOutlined /> },
  { key: 'dark', icon: <MoonOutlined /> },
] as const;

export function ThemeChoice() {
  const { t } = useTranslation('common');
  const [theme, choose] = usePreference('theme');
  const items = THEMES.map(({ key, icon }) => ({ key, icon, label: t(`theme.${key}`) }));
  const icon = THEMES.find((one) => one.key === theme)?.icon;
  return (
    <Dropdown
      trigger={['click']}
      menu={{ items, selectable: true, selectedKeys: [theme], onClick: ({ key }) => choose(key as typeof theme) }}
    >
      <Button type="text" icon={icon} aria-label={t('theme.label')} />
    </Dropdown>
  );
}
