import { Segmented, Select } from 'antd';
import { type ReactNode, useId } from 'react';
import { useTranslation } from 'react-i18next';
import { useOfferedPages } from '@/app/offeredPages';
import { usePreference } from '@/app/preferences';
import { ZoneChoice } from '@/app/ZoneChoice';
import { LANGUAGE_NAMES, LANGUAGES } from '@/i18n/languages';
import { Panel } from '@/parts/Page';

/** Choices that are kept with one's account. */
export function Display() {
  const { t } = useTranslation(['settings', 'common']);
  const [language, setLanguage] = usePreference('language');
  const [theme, setTheme] = usePreference('theme');
  const [density, setDensity] = usePreference('density');
  return (
    <Panel title={t('display.title')}>
      <Row name={t('display.zone')} hint={t('display.zoneHint')}>
        <ZoneChoice />
      </Row>
      <Row name={t('display.language')}>
        <Segmented
          value={language}
          onChange={setLanguage}
          aria-label={t('display.language')}
          options={LANGUAGES.map((one) => ({ value: one, label: <span lang={one}>{LANGUAGE_NAMES[one]}</span> }))}
        />
      </Row>
      <Row name={t('display.theme')}>
        <Segmented
          value={theme}
          onChange={setTheme}
          aria-label={t('display.theme')}
          options={(['system', 'light', 'dark'] as const).map((one) => ({
            value: one,
            label: t(`common:theme.${one}`),
          }))}
        />
      </Row>
      <Row name={t('display.density')}>
        <Segmented
          value={density}
          onChange={setDensity}
          aria-label={t('display.density')}
          options={[
            { value: 'middle', label: t('display.middle') },
            { value: 'small', label: t('display.small') },
          ]}
        />
      </Row>
      <Row name={t('display.landing')} hint={t('display.landingHint')}>
        <Landing />
      </Row>
    </Panel>
  );
}

function Landing() {
  const { t } = useTranslation(['settings', 'common']);
  const offered = useOfferedPages();
  const [landing, setLanding] = usePreference('landing');
  const options = offered.flatMap(({ path, nav }) => (nav ? [{ value: path, label: t(`common:nav.${nav.key}`) }] : []));
  return (
    <Select
      className="landing-choice"
      value={offered.some(({ path }) => path === landing) ? landing : '/'}
      onChange={setLanding}
      options={options}
      aria-label={t('display.landing')}
    />
  );
}

function Row({ name, hint, children }: { name: string; hint?: string; children: ReactNode }) {
  const id = useId();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset cannot be laid out as a row
    <div className="settings-row" role="group" aria-labelledby={id}>
      <div>
        <span id={id}>{name}</span>
        {hint && <div className="cell-sub">{hint}</div>}
      </div>
      <div>{children}</div>
    </div>
  );
}
