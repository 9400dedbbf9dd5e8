import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { Channels } from '@/pages/alarms/Channels';
import { Firing } from '@/pages/alarms/Firing';
import { History } from '@/pages/alarms/History';
import { Rules } from '@/pages/alarms/Rules';
import { Silences } from '@/pages/alarms/Silences';
import { Page } from '@/parts/Page';
import { PageTabs } from '@/parts/PageTabs';
import './alarms.css';

/** What fails now, what was told of it and by which channels, and what is kept silent. */
export function Alarms() {
  const { t } = useTranslation('alarms');
  const { tab } = useParams();
  return (
    <Page title={t('title')} intro={t('intro')}>
      <PageTabs
        at={tab}
        base="/alarms"
        tabs={[
          { key: 'firing', label: t('tabs.firing'), content: <Firing /> },
          { key: 'history', label: t('tabs.history'), content: <History /> },
          { key: 'rules', label: t('tabs.rules'), content: <Rules /> },
          { key: 'channels', label: t('tabs.channels'), content: <Channels /> },
          { key: 'silences', label: t('tabs.silences'), content: <Silences /> },
        ]}
      />
    </Page>
  );
}
