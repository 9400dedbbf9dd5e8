import {
  BugOutlined,
  CopyOutlined,
  DownloadOutlined,
  FullscreenOutlined,
  VerticalAlignBottomOutlined,
  VerticalAlignTopOutlined,
} from '@ant-design/icons';
import { App, Button, Dropdown, Select, Tooltip } from 'antd';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { address } from '@/api/base';
import { usePreference } from '@/app/preferences';
import { LEVELS, type Level } from '@/parts/log/lines';
import { STAMPS } from '@/parts/log/stamps';
import { useSaid } from '@/parts/ProblemNotice';

interface Props {
  executionId: number;
  levels: readonly Level[];
  onLevels: (levels: Level[]) => void;
  /** Null when nothing more comes. */
  following: boolean | null;
  onFollow: () => void;
  onStart: () => void;
  onEnd: () => void;
  /** Whether there was an error to go to. */
  onFirstError: () => Promise<boolean>;
  /** How many lines were copied. */
  onCopy: () => Promise<number>;
  /** Saves only what is shown; null while everything is. */
  onSaveShown: (() => Promise<void>) | null;
  fullScreen: boolean;
  /** What is searched for and shown, as in an address. */
  filters: string;
  search: ReactNode;
}

export function LogToolbar(props: Props) {
  const { t } = useTranslation('log');
  const [wrap, setWrap] = usePreference('logWrap');
  return (
    <div className="log-toolbar" role="toolbar" aria-label={t('toolbar')}>
      {props.search}
      <Levels levels={props.levels} onLevels={props.onLevels} />
      <span className="log-tools">
        {props.following !== null && (
          <Button
            size="small"
            type={props.following ? 'primary' : 'default'}
            aria-pressed={props.following}
            onClick={props.onFollow}
          >
            {t('follow')}
          </Button>
        )}
        <FirstError go={props.onFirstError} />
        <Tool name={t('toStart')} icon={<VerticalAlignTopOutlined />} onClick={props.onStart} />
        <Tool name={t('toEnd')} icon={<VerticalAlignBottomOutlined />} onClick={props.onEnd} />
        <StampChoice />
        <Button size="small" aria-pressed={wrap} type={wrap ? 'primary' : 'default'} onClick={() => setWrap(!wrap)}>
          {t('wrap')}
        </Button>
        <CopyTool copy={props.onCopy} />
        <Download executionId={props.executionId} saveShown={props.onSaveShown} />
        {!props.fullScreen && (
          <Tooltip title={t('fullScreen')}>
            <Link
              to={{ pathname: `/executions/${props.executionId}/log`, search: props.filters }}
              className="log-tool"
              aria-label={t('fullScreen')}
            >
              <FullscreenOutlined />
            </Link>
          </Tooltip>
        )}
      </span>
    </div>
  );
}

function Tool({ name, icon, onClick, busy }: { name: string; icon: ReactNode; onClick: () => void; busy?: boolean }) {
  return (
    <Tooltip title={name}>
      <Button size="small" type="text" icon={icon} aria-label={name} loading={!!busy} onClick={onClick} />
    </Tooltip>
  );
}

function Levels({ levels, onLevels }: { levels: readonly Level[]; onLevels: (levels: Level[]) => void }) {
  const { t } = useTranslation('log');
  return (
    <fieldset className="log-levels">
      <legend className="visually-hidden">{t('levels.label')}</legend>
      {LEVELS.map((level) => {
        const on = levels.includes(level);
        return (
          <button
            key={level}
            type="button"
            className={`log-chip log-chip-${level}`}
            aria-pressed={on}
            onClick={() => onLevels(on ? levels.filter((one) => one !== level) : [...levels, level])}
          >
            {t(`levels.${level}`)}
          </button>
        );
      })}
    </fieldset>
  );
}

function StampChoice() {
  const { t } = useTranslation('log');
  const [stamps, choose] = usePreference('logStamps');
  return (
    <Select
      size="small"
      className="log-stamps"
      popupMatchSelectWidth={false}
      aria-label={t('stamps.label')}
      value={stamps}
      onChange={choose}
      options={STAMPS.map((one) => ({ value: one, label: t(`stamps.${one}`) }))}
    />
  );
}

function FirstError({ go }: { go: () => Promise<boolean> }) {
  const { t } = useTranslation('log');
  const { message } = App.useApp();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const said = useSaid(error);
  async function look() {
    setBusy(true);
    setError(null);
    try {
      if (!(await go())) message.info(t('noError'));
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }
  return (
    <Tooltip title={error ? said.title : t('firstError')}>
      <Button
        size="small"
        icon={<BugOutlined />}
        loading={busy}
        danger={!!error}
        aria-label={t('firstError')}
        onClick={look}
      />
    </Tooltip>
  );
}

function CopyTool({ copy }: { copy: () => Promise<number> }) {
  const { t } = useTranslation('log');
  const { message } = App.useApp();
  const [busy, setBusy] = useState(false);
  async function go() {
    setBusy(true);
    try {
      message.success(t('copied', { count: await copy() }));
    } catch {
      message.error(t('notCopied'));
    } finally {
      setBusy(false);
    }
  }
  return <Tool name={t('copy')} icon={<CopyOutlined />} busy={busy} onClick={go} />;
}

function Download({ executionId, saveShown }: { executionId: number; saveShown: (() => Promise<void>) | null }) {
  const { t } = useTranslation('log');
  const href = address(`/api/v1/executions/${executionId}/log/download`);
  const whole = (
    <a href={href} download>
      {t('downloadAll')}
    </a>
  );
  if (!saveShown) {
    return (
      <Tooltip title={t('downloadAll')}>
        <a className="log-tool" href={href} download aria-label={t('downloadAll')}>
          <DownloadOutlined />
        </a>
      </Tooltip>
    );
  }
  const items = [
    { key: 'all', label: whole },
    { key: 'shown', label: t('downloadShown'), onClick: () => void saveShown() },
  ];
  return (
    <Dropdown trigger={['click']} menu={{ items }}>
      <Button size="small" type="text" icon={<DownloadOutlined />} aria-label={t('download')} />
    </Dropdown>
  );
}
