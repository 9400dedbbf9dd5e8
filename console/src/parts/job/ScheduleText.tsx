import { Fragment } from 'react';
import { useTranslation } from 'react-i18next';
import type { Job } from '@/api/types';
import { usePreference } from '@/app/preferences';
import type { Language } from '@/i18n/languages';
import { useCronWords } from '@/parts/job/cronWords';
import { pointInTime } from '@/parts/job/pointInTime';
import { quantity } from '@/parts/time/format';
import './job.css';

type Schedule = Pick<Job, 'schedule_type' | 'schedule_conf' | 'timezone'>;

const UNITS = { ms: 'ms', s: 's', m: 'min', h: 'h', d: 'd' } as const;

/** `30` is seconds; `500ms` says so itself. */
export function withUnit(conf: string, language?: Language): string {
  const [, count, unit = 's'] = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)?$/i.exec(conf.trim()) ?? [];
  return count === undefined ? conf.trim() : quantity(count, UNITS[unit.toLowerCase() as keyof typeof UNITS], language);
}

export function useScheduleWords(): (schedule: Schedule) => string {
  const { t } = useTranslation('jobs');
  const [language] = usePreference('language');
  const cron = useCronWords();
  return ({ schedule_type: type, schedule_conf: conf, timezone }) => {
    switch (type) {
      case 'CRON':
        return cron(conf) ?? conf;
      case 'FIX_RATE':
        return t('schedule.rate', { every: withUnit(conf) });
      case 'FIX_DELAY':
        return t('schedule.delay', { after: withUnit(conf) });
      case 'AT':
        return t('schedule.at', { at: pointInTime(conf, timezone, language) ?? conf });
      case 'NONE':
        return t('schedule.none');
    }
  };
}

/** The name of a zone, which may go on in the next line behind a slash. */
function Zone({ name }: { name: string }) {
  const parts = name.split('/');
  return parts.map((part, index) => (
    <Fragment key={part}>
      {part}
      {index < parts.length - 1 && (
        <>
          /<wbr />
        </>
      )}
    </Fragment>
  ));
}

/** When a job fires: in words, with its zone, and as it is written where that says it otherwise. */
export function ScheduleText({ schedule }: { schedule: Schedule }) {
  const { t } = useTranslation('jobs');
  const words = useScheduleWords()(schedule);
  if (schedule.schedule_type === 'NONE') return <span className="muted">{t('byHand')}</span>;
  return (
    <span className="schedule-text">
      <span title={words}>{words}</span>
      <span className="cell-sub schedule-conf" title={`${schedule.schedule_conf} · ${schedule.timezone}`}>
        {schedule.schedule_type === 'AT' ? (
          <Zone name={schedule.timezone} />
        ) : (
          <>
            <span className="mono">{schedule.schedule_conf}</span>{' '}
            <span>
              · <Zone name={schedule.timezone} />
            </span>
          </>
        )}
      </span>
    </span>
  );
}
