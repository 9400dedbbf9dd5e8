import { useTranslation } from 'react-i18next';
import { serverNow } from '@/api/serverClock';
import type { Job } from '@/api/types';
import { usePreference } from '@/app/preferences';
import { instant } from '@/parts/time/format';
import { useDisplayZone } from '@/parts/time/Instant';
import type { Speech } from '@/parts/why/telling';

type Route = Job['executor_route_strategy'];

/** How to tell why, in the language and zone of the person; null until its texts are there. */
export function useSpeech(): Speech | null {
  // What is around must not disappear while the texts are loaded: they are first needed in the middle of a page.
  const { t, i18n, ready } = useTranslation(['why', 'jobEditor'], { useSuspense: false });
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  if (!ready) return null;
  return {
    t,
    knows: (key) => i18n.exists(key, { ns: 'why', count: 2 }),
    at: (said) => instant(Date.parse(said), serverNow(), language, zone),
    strategy: (code) =>
      i18n.exists(`route.${code}.name`, { ns: 'jobEditor' }) ? t(`jobEditor:route.${code as Route}.name`) : code,
  };
}
