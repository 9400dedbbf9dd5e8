import { PauseOutlined, PlayCircleOutlined } from '@ant-design/icons';
import { Button, Tooltip } from 'antd';
import { useTranslation } from 'react-i18next';
import { useHeldAt, useLive } from '@/live/LiveProvider';
import { Ago } from '@/parts/time/Ago';
import './live.css';

/** How old what one sees is, while it is held. */
function HeldSince() {
  const at = useHeldAt();
  if (at === null) return null;
  return (
    <>
      {' · '}
      <Ago at={at} />
    </>
  );
}

/** Whether what one sees is live, and the way to hold it still while reading. */
export function LiveIndicator() {
  const { t } = useTranslation('common');
  const { state, paused, setPaused } = useLive();
  const said = paused ? 'paused' : state.kind === 'live' ? 'live' : state.kind === 'waiting' ? 'cut' : 'connecting';
  return (
    <span className={`live-indicator live-${said}`}>
      <span className="live-dot" aria-hidden="true" />
      <span>
        {t(`live.${said}`)}
        <HeldSince />
      </span>
      <Tooltip title={paused ? t('live.resume') : t('live.pause')}>
        <Button
          type="text"
          size="small"
          aria-label={paused ? t('live.resume') : t('live.pause')}
          aria-pressed={paused}
          icon={paused ? <PlayCircleOutlined /> : <PauseOutlined />}
          onClick={() => setPaused(!paused)}
        />
      </Tooltip>
    </span>
  );
}
