import { useTranslation } from 'react-i18next';
import { useHeldAt } from '@/live/LiveProvider';
import { Ago } from '@/parts/time/Ago';

/** For who is about to act on what they see: while updates are paused it may be otherwise by now. */
export function HeldNote() {
  const { t } = useTranslation('common');
  const at = useHeldAt();
  if (at === null) return null;
  return (
    <p className="muted" role="note">
      {t('live.paused')} · {t('live.age')} <Ago at={at} />
    </p>
  );
}
