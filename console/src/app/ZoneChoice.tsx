import { useTranslation } from 'react-i18next';
import { usePreference } from '@/app/preferences';
import { browserZone, hasClock } from '@/parts/time/format';
import { ZoneSelect } from '@/parts/time/ZoneSelect';

/** The zone of what is shown. */
export function ZoneChoice() {
  const { t } = useTranslation('common');
  const [zone, choose] = usePreference('zone');
  return (
    <ZoneSelect
      variant="borderless"
      value={zone}
      onChange={(chosen) => chosen && choose(chosen)}
      first={[{ value: 'browser', label: t('zone.browser', { zone: browserZone() }) }]}
      only={hasClock}
      labelRender={({ value }) => (value === 'browser' ? browserZone() : value)}
      aria-label={t('zone.label')}
      className="zone-choice"
    />
  );
}
