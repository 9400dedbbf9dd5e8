import { usePreference } from '@/app/preferences';
import { browserZone, fullInstant, hasClock, instant } from '@/parts/time/format';
import { useNow } from '@/parts/time/useNow';

/** The zone in which instants are shown. What was chosen in a newer browser may be unknown to this one. */
export function useDisplayZone(): string {
  const [zone] = usePreference('zone');
  return zone === 'browser' || !hasClock(zone) ? browserZone() : zone;
}

/** An instant in the display zone; the whole of it on hover. */
export function Instant({ at }: { at: string | null }) {
  const now = useNow();
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  if (at === null) return <span className="muted">–</span>;
  const ms = Date.parse(at);
  return (
    <time dateTime={at} title={fullInstant(ms, language, zone)}>
      {instant(ms, now, language, zone)}
    </time>
  );
}
