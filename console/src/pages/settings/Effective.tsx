import { DownloadOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Alert, Button, Input, Skeleton, Switch, type TableColumnsType, Tooltip } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { SettingsWarning } from '@/api/types';
import { chosen, isKept, type Setting } from '@/pages/settings/chosen';
import { diagnose } from '@/pages/settings/diagnostics';
import { settingsQuery } from '@/pages/settings/queries';
import { CLEARABLE } from '@/parts/clearable';
import { EmptyState } from '@/parts/EmptyState';
import { Mark } from '@/parts/Mark';
import { Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { SmallTable } from '@/parts/SmallTable';
import { saveText } from '@/parts/saveText';

/** What the coordinator that answers runs with: read only, for settings are read when it starts. */
export function Effective() {
  const { t } = useTranslation('settings');
  const settings = useQuery(settingsQuery);
  const explained = useExplained();
  const saidOf = useSaying();
  if (settings.isPending) return <Skeleton active />;
  if (settings.isError) return <ProblemNotice error={settings.error} retry={() => void settings.refetch()} />;
  const { node, version, file, warnings } = settings.data;
  const items = settings.data.items.map(explained);
  return (
    <>
      <Panel title={t('about.title')} extra={<Diagnostics />}>
        <dl className="settings-facts">
          <dt>{t('about.version')}</dt>
          <dd className="mono">Orth {version}</dd>
          <dt>{t('about.node')}</dt>
          <dd className="mono">{node}</dd>
          <dt>{t('about.file')}</dt>
          <dd className="mono">{file ?? t('about.noFile')}</dd>
        </dl>
        {warnings.map((warning) => (
          <Alert key={warning.detail} type="warning" showIcon title={saidOf(warning)} className="settings-warning" />
        ))}
      </Panel>
      <Panel title={t('retention.title')} flush>
        <SettingsTable label={t('retention.title')} settings={items.filter(isKept)} />
      </Panel>
      <All settings={items} />
    </>
  );
}

/** A warning in the language of the page; in the words of the server where it is newer than the page. */
function useSaying(): (warning: SettingsWarning) => string {
  const { t, i18n } = useTranslation('settings');
  return ({ code, facts, detail }) => {
    const key = code as 'no_tls';
    return i18n.exists?.(`settings:surprise.${key}`) ? t(`surprise.${key}`, { ...facts }) : detail;
  };
}

/** A setting explained in the language of the page; in the words of the server where it is newer than the page. */
function useExplained(): (setting: Setting) => Setting {
  const { t, i18n } = useTranslation(['settings', 'settingTexts']);
  return (setting) => {
    const key = setting.key as 'store.url';
    return i18n.exists?.(`settingTexts:${key}`) ? { ...setting, explanation: t(`settingTexts:${key}`) } : setting;
  };
}

/** Where a value is from: `environment ORTH_…` and `option --…` in the language of the page, a file as it is. */
function useOrigin(): (origin: string) => string {
  const { t } = useTranslation('settings');
  return (origin) => {
    const [, kind, name] = /^(environment|option) (.+)$/.exec(origin) ?? [];
    if (kind === 'environment') return t('all.environment', { name });
    return kind === 'option' ? t('all.option', { name }) : origin;
  };
}

function Diagnostics() {
  const { t } = useTranslation('settings');
  const [busy, setBusy] = useState(false);
  async function save() {
    setBusy(true);
    const found = { made_at: new Date().toISOString(), browser: navigator.userAgent, ...(await diagnose()) };
    saveText('orth-diagnostics.json', `${JSON.stringify(found, null, 2)}\n`);
    setBusy(false);
  }
  return (
    <Tooltip title={t('about.diagnosticsHint')}>
      <Button size="small" icon={<DownloadOutlined />} loading={busy} onClick={() => void save()}>
        {t('about.diagnostics')}
      </Button>
    </Tooltip>
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
        allowClear={CLEARABLE}
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
  const said = useOrigin();
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
          <Mark colour="blue">{said(one.origin)}</Mark>
        ),
    },
  ];
  return (
    <SmallTable<Setting>
      label={label}
      rows={settings}
      rowKey="key"
      columns={columns}
      scroll={{}} // explanations wrap: nothing is hidden to the right
      empty={<EmptyState title={t('all.none')} />}
    />
  );
}
