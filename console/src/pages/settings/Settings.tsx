import { useTranslation } from 'react-i18next';
import { Display } from '@/pages/settings/Display';
import { Effective } from '@/pages/settings/Effective';
import { Page } from '@/parts/Page';
import { PermissionGate } from '@/parts/PermissionGate';
import './settings.css';

/** What this browser shows and how; for administrators, what the coordinator runs with. */
export function Settings() {
  const { t } = useTranslation('settings');
  return (
    <Page title={t('title')} intro={t('intro')}>
      <div className="settings">
        <Display />
        <PermissionGate needs="administer">
          <Effective />
        </PermissionGate>
      </div>
    </Page>
  );
}
