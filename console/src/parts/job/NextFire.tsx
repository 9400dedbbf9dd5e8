import { useTranslation } from 'react-i18next';
import { duration, wholeSeconds } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';
import { useNow } from '@/parts/time/useNow';

/** When a job fires next, and how long that is from now; it counts by itself. */
export function NextFire({ at }: { at: string | null }) {
  const { t } = useTranslation(['jobs', 'common']);
  const now = useNow();
  if (at === null) return <span className="muted">–</span>;
  const left = Date.parse(at) - now;
  const shown = left < 60_000 ? wholeSeconds(Math.ceil(left / 1_000)) : duration(left);
  return (
    <>
      <span className="countdown">{left <= 0 ? t('common:due') : t('next.in', { time: shown })}</span>
      <div className="cell-sub">
        <Instant at={at} />
      </div>
    </>
  );
}
