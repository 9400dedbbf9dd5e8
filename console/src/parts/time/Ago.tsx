import { usePreference } from '@/app/preferences';
import { fullInstant, relative } from '@/parts/time/format';
import { useDisplayZone } from '@/parts/time/Instant';
import { useNow } from '@/parts/time/useNow';

/** How long ago, or how soon; it counts by itself. */
export function Ago({ at }: { at: number | string | null }) {
  const now = useNow();
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  if (at === null) return <span className="muted">–</span>;
  const instant = typeof at === 'string' ? Date.parse(at) : at;
  return (
    <time dateTime={new Date(instant).toISOString()} title={fullInstant(instant, language, zone)}>
      {relative(instant, now, language)}
    </time>
  );
}
