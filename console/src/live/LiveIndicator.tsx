import { PauseOutlined, PlayCircleOutlined } from '@ant-design/icons';
import { Button, Tooltip } from 'antd';
import { useTranslation } from 'react-i18next';
import { isCut } from '@/live/connection';
import { useHeldAt, useLive } from '@/live/LiveProvider';
import { Ago } from '@/parts/time/Ago';
import { useNow } from '@/parts/time/useNow';
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

/** How long ago the server was last heard: it says something every ten seconds at least. */
function HeardSince() {
  const now = useNow(); // of the last second: what was heard since is not in the future
  const { heardAt } = useLive();
  return (
    <span className="live-age">
      {' · '}
      <Ago at={Math.min(heardAt(), now)} />
    </span>
  );
}

/** Whether what one sees is live, and the way to hold it still while reading. */
export function LiveIndicator() {
  const { t } = useTranslation('common');
  const { state, paused, setPaused } = useLive();
  const said = paused ? 'paused' : state.kind === 'live' ? 'live' : isCut(state) ? 'cut' : 'connecting';
  return (
    <span className={`live-indicator live-${said}`}>
      <span className="live-dot" aria-hidden="true" />
      <span>
        <span>{t(`live.${said}`)}</span>
        {said === 'live' && <HeardSince />}
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
