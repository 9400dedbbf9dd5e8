import { ClockCircleOutlined } from '@ant-design/icons';
import { Tooltip } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { serverNow } from '@/api/serverClock';
import type { ComingFire } from '@/api/types';
import { usePreference } from '@/app/preferences';
import type { Language } from '@/i18n/languages';
import { leftOut } from '@/parts/job/leftOut';
import { Ago } from '@/parts/time/Ago';
import { hasClock, zoneLast } from '@/parts/time/format';
import '@/status/status.css';
import './job.css';

/** The day and time a clock of the zone shows, with its offset: `Sun, Mar 29, 03:00 GMT+2`; with the year if it is another. */
export function onTheClock(fire: string, language: Language, zoneOfJob: string, now: number): string {
  const at = Date.parse(fire);
  const zone = hasClock(zoneOfJob) ? zoneOfJob : 'UTC'; // the server may know a newer one
  const year = new Intl.DateTimeFormat('en', { timeZone: zone, year: 'numeric' });
  const format = new Intl.DateTimeFormat(language, {
    timeZone: zone,
    weekday: 'short',
    ...(year.format(at) !== year.format(now) && { year: 'numeric' }),
    month: 'short',
    day: 'numeric',
    hour: '2-digit',
    minute: '2-digit',
    ...(at % 60_000 !== 0 && { second: '2-digit' }),
    hourCycle: 'h23',
    timeZoneName: 'shortOffset',
  });
  return zoneLast(format, at, language);
}

/** Coming fires on the clock of their zone, with a mark where that clock is put forward or back. */
export function FireList({ fires, zone }: { fires: readonly ComingFire[]; zone: string }) {
  const { t } = useTranslation('jobs');
  const [language] = usePreference('language');
  const [opened] = useState(() => serverNow());
  const words = (reason: string) => {
    const out = leftOut(reason, language);
    return out ? t(`fires.leftOut.${out.by}`, { day: out.day, weekday: out.weekday }) : reason;
  };
  return (
    <ol className="fire-list" aria-label={t('fires.label')}>
      {fires.map((fire) => (
        <li key={fire.fire_time}>
          <span className={fire.skipped ? 'fire-skipped' : undefined}>
            {onTheClock(fire.fire_time, language, zone, opened)}
          </span>
          <span className="cell-sub nowrap">
            <Ago at={fire.fire_time} />
          </span>
          {fire.clock_change && <ClockMark change={fire.clock_change} />}
          {fire.skipped && <span className="fire-note">{t('fires.skipped', { reason: words(fire.skipped) })}</span>}
        </li>
      ))}
    </ol>
  );
}

function ClockMark({ change }: { change: NonNullable<ComingFire['clock_change']> }) {
  const { t } = useTranslation('jobs');
  return (
    <Tooltip title={t(`fires.why.${change}`)}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what it means is said when it has the focus */}
      <span className="fire-mark status-orange" tabIndex={0}>
        <ClockCircleOutlined /> {t(`fires.${change}`)}
      </span>
    </Tooltip>
  );
}
