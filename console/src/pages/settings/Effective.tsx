import { useQuery } from '@tanstack/react-query';
import { Alert, Input, Skeleton, Switch, Table, type TableColumnsType } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { usePreference } from '@/app/preferences';
import { chosen, isKept, type Setting } from '@/pages/settings/chosen';
import { settingsQuery } from '@/pages/settings/queries';
import { Mark } from '@/parts/Mark';
import { Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';

/** What the coordinator that answers runs with: read only, for settings are read when it starts. */
export function Effective() {
  const { t } = useTranslation('settings');
  const settings = useQuery(settingsQuery);
  if (settings.isPending) return <Skeleton active />;
  if (settings.isError) return <ProblemNotice error={settings.error} retry={() => void settings.refetch()} />;
  const { node, version, file, warnings, items } = settings.data;
  return (
    <>
      <Panel title={t('about.title')}>
        <dl className="settings-facts">
          <dt>{t('about.version')}</dt>
          <dd className="mono">Orth {version}</dd>
          <dt>{t('about.node')}</dt>
          <dd className="mono">{node}</dd>
          <dt>{t('about.file')}</dt>
          <dd className="mono">{file ?? t('about.noFile')}</dd>
        </dl>
        {warnings.map((warning) => (
          <Alert key={warning} type="warning" showIcon title={warning} className="settings-warning" />
        ))}
      </Panel>
      <Panel title={t('retention.title')} flush>
        <SettingsTable label={t('retention.title')} settings={items.filter(isKept)} />
      </Panel>
      <All settings={items} />
    </>
  );
}

function All({ settings }: { settings: Setting[] }) {
  const { t } = useTranslation('settings');
  const [text, setText] = useState('');
  const [changedOnly, setChangedOnly] = useState(false);
  const tools = (
    <div className="settings-tools">
      {/* biome-ignore lint/a11y/noLabelWithoutControl: the switch is inside */}
      <label>
        <Switch size="small" checked={changedOnly} onChange={setChangedOnly} /> {t('all.changedOnly')}
      </label>
      <Input
        size="small"
        allowClear
        className="settings-search"
        value={text}
        placeholder={t('all.search')}
        aria-label={t('all.search')}
        onChange={(event) => setText(event.target.value)}
      />
    </div>
  );
  return (
    <Panel title={t('all.title')} extra={tools} flush>
      <SettingsTable label={t('all.title')} settings={chosen(settings, text, changedOnly)} />
    </Panel>
  );
}

function SettingsTable({ label, settings }: { label: string; settings: Setting[] }) {
  const { t } = useTranslation('settings');
  const [density] = usePreference('density');
  const columns: TableColumnsType<Setting> = [
    {
      title: t('all.key'),
      key: 'key',
      render: (_, one) => (
        <>
          <span className="mono cell-main">{one.key}</span>
          <div className="cell-sub settings-explained">{one.explanation}</div>
        </>
      ),
    },
    {
      title: t('all.value'),
      key: 'value',
      render: (_, one) => <span className="mono settings-value">{one.value || <span className="muted">–</span>}</span>,
    },
    {
      title: t('all.origin'),
      key: 'origin',
      render: (_, one) =>
        one.origin === 'default' ? (
          <span className="muted">{t('all.default')}</span>
        ) : (
          <Mark colour="blue">{one.origin}</Mark>
        ),
    },
  ];
  return (
    <section aria-label={label}>
      <Table<Setting>
        size={density}
        rowKey="key"
        columns={columns}
        dataSource={settings}
        pagination={false}
        locale={{ emptyText: t('all.none') }}
      />
    </section>
  );
}
