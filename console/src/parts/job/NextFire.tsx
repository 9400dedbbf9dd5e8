import { useTranslation } from 'react-i18next';
import { duration } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';
import { useNow } from '@/parts/time/useNow';

/** When a job fires next, and how long that is from now; it counts by itself. */
export function NextFire({ at }: { at: string | null }) {
  const { t } = useTranslation('jobs');
  const now = useNow();
  if (at === null) return <span className="muted">–</span>;
  const left = Date.parse(at) - now;
  const shown = duration(left < 60_000 ? Math.ceil(left / 1_000) * 1_000 : left).replace(/\.0 s$/, ' s');
  return (
    <>
      <span className="countdown">{left <= 0 ? t('next.due') : t('next.in', { time: shown })}</span>
      <div className="cell-sub">
        <Instant at={at} />
      </div>
    </>
  );
}
