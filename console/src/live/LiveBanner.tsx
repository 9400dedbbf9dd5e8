import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { isCut } from '@/live/connection';
import { useLive } from '@/live/LiveProvider';
import { Ago } from '@/parts/time/Ago';
import { useNow } from '@/parts/time/useNow';
import './live.css';

/** Says that the line is cut, when the next attempt is, and how old what one sees is. */
export function LiveBanner() {
  const { t } = useTranslation('common');
  const { state, heardAt, retryNow } = useLive();
  const now = useNow();
  if (!isCut(state)) return null;
  const seconds = state.kind === 'waiting' ? Math.max(0, Math.ceil((state.retryAt - now) / 1000)) : null;
  return (
    <div className="live-banner" role="status">
      <span>{seconds === null ? t('live.retrying') : t('live.disconnected', { seconds })}</span>
      <span>
        {t('live.age')} <Ago at={heardAt()} />
      </span>
      <Button size="small" disabled={seconds === null} onClick={retryNow}>
        {t('live.retryNow')}
      </Button>
    </div>
  );
}
