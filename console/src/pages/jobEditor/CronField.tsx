import { ClockCircleOutlined } from '@ant-design/icons';
import { Input, Select } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { usePreference } from '@/app/preferences';
import {
  changedTo,
  EVERY,
  type Every,
  type Plan,
  read,
  STEPS,
  timeIn,
  timeText,
  WEEKDAYS,
  type Weekday,
  write,
} from '@/pages/jobEditor/cron';
import { InputNumber } from '@/parts/InputNumber';
import { useCronWords } from '@/parts/job/cronWords';

interface Props {
  id?: string;
  value?: string;
  onChange?: (text: string) => void;
  /** Whether the server refuses it: then it means nothing. */
  refused?: boolean;
  /** On whose clock it is read, where that is known. */
  zone?: string | null;
}

/** A cron expression: clicked together or typed. Each shows at once what the other did. */
export function CronField({ id, value = '', onChange = () => {}, refused = false, zone = null }: Props) {
  const { t } = useTranslation('jobEditor');
  const plan = read(value);
  const words = useCronWords()(value);
  return (
    <div className="cron-field">
      <fieldset className="cron-builder">
        <legend className="visually-hidden">{t('cron.builder')}</legend>
        <Select
          aria-label={t('cron.rhythm')}
          className="cron-every"
          value={plan?.every ?? 'text'}
          onChange={(every) => every !== 'text' && onChange(write(changedTo(every as Every, plan)))}
          options={[
            ...EVERY.map((one) => ({ value: one as string, label: t(`cron.${one}`) })),
            ...(plan ? [] : [{ value: 'text', label: t('cron.text') }]),
          ]}
        />
        {plan && <PlanFields plan={plan} change={(changed) => onChange(write(changed))} />}
      </fieldset>
      <Input
        id={id}
        className="mono"
        value={value}
        maxLength={255}
        spellCheck={false}
        onChange={(event) => onChange(event.target.value)}
      />
      <p className="muted cron-words" aria-live="polite">
        {words === null || refused ? t('cron.hint') : zone === null ? words : t('cron.inZone', { words, zone })}
      </p>
    </div>
  );
}

interface PlanProps {
  plan: Plan;
  change: (plan: Plan) => void;
}

function PlanFields({ plan, change }: PlanProps) {
  const { t } = useTranslation('jobEditor');
  switch (plan.every) {
    case 'minutes':
      return (
        <Select
          aria-label={t('cron.step')}
          value={plan.step}
          onChange={(step) => change({ ...plan, step })}
          options={STEPS.map((step) => ({ value: step as number, label: t('cron.steps', { count: step }) }))}
        />
      );
    case 'hour':
      return (
        <InputNumber
          aria-label={t('cron.minute')}
          prefix={t('cron.atMinute')}
          min={0}
          max={59}
          value={plan.minute}
          onChange={(minute) => change({ ...plan, minute: minute ?? 0 })}
        />
      );
    case 'day':
      return <TimeOfDay plan={plan} change={change} />;
    case 'week':
      return (
        <>
          <WeekdayChoice days={plan.days} onChange={(days) => change({ ...plan, days })} />
          <TimeOfDay plan={plan} change={change} />
        </>
      );
    case 'month':
      return (
        <>
          <Select
            aria-label={t('cron.dayOfMonth')}
            value={plan.day}
            onChange={(day) => change({ ...plan, day })}
            options={[
              ...Array.from({ length: 31 }, (_, index) => ({
                value: index + 1,
                label: t('cron.onDay', { day: index + 1 }),
              })),
              { value: 'L' as const, label: t('cron.lastDay') },
            ]}
          />
          <TimeOfDay plan={plan} change={change} />
        </>
      );
  }
}

type Daily = Extract<Plan, { hour: number }>;

/** A field of the browser would read in the browser's language. What is typed counts as soon as it is a time. */
function TimeOfDay({ plan, change }: { plan: Daily; change: (plan: Plan) => void }) {
  const { t } = useTranslation('jobEditor');
  const [typed, setTyped] = useState<string | null>(null);
  const wrong = typed !== null && timeIn(typed) === null;
  return (
    <Input
      className="cron-time"
      aria-label={t('cron.time')}
      aria-invalid={wrong}
      title={t('cron.timeForm')}
      {...(wrong && { status: 'error' as const })}
      prefix={<ClockCircleOutlined />}
      maxLength={5}
      value={typed ?? timeText(plan)}
      onChange={({ target }) => {
        setTyped(target.value);
        const time = timeIn(target.value);
        if (time) change({ ...plan, ...time });
      }}
      onBlur={() => setTyped(null)}
    />
  );
}

/** Without a day there would be no fire: the last one stays. */
function WeekdayChoice({ days, onChange }: { days: Weekday[]; onChange: (days: Weekday[]) => void }) {
  const { t } = useTranslation('jobEditor');
  const [language] = usePreference('language');
  const format = new Intl.DateTimeFormat(language, { weekday: 'short', timeZone: 'UTC' });
  const named = (day: Weekday) => format.format(Date.UTC(2024, 0, day)); // the first of that January was a Monday
  return (
    <Select
      mode="multiple"
      className="cron-days"
      aria-label={t('cron.days')}
      showSearch={false}
      value={days}
      onChange={(chosen) => chosen.length > 0 && onChange(chosen)}
      options={WEEKDAYS.map((day) => ({ value: day, label: named(day) }))}
    />
  );
}
