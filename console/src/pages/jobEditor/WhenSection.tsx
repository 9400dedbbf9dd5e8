import { useQuery } from '@tanstack/react-query';
import { Form, Input, Radio } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { CronField } from '@/pages/jobEditor/CronField';
import { DST, MISFIRES, SCHEDULES } from '@/pages/jobEditor/choices';
import { Explained } from '@/pages/jobEditor/Explained';
import { usePreview } from '@/pages/jobEditor/preview';
import { ClearableSelect, useClearing } from '@/parts/clearable';
import { InputNumber } from '@/parts/InputNumber';
import type { Draft } from '@/parts/job/draft';
import { Panel } from '@/parts/Page';
import { useFieldSaying } from '@/parts/ProblemNotice';
import { ZoneSelect } from '@/parts/time/ZoneSelect';

const calendarsQuery = {
  queryKey: ['jobs', 'calendars'],
  queryFn: () => got(api.GET('/api/v1/calendars', { params: { query: { limit: 200 } } })),
};

const FIRST_CONF: Record<Draft['schedule_type'], string> = {
  CRON: '0 0 2 * * ?',
  FIX_RATE: '5m',
  FIX_DELAY: '30s',
  AT: '',
  NONE: '',
};

/** When it fires. What the server says about the schedule stands below it, and beside the form. */
export function WhenSection() {
  const { t } = useTranslation('jobEditor');
  const form = Form.useFormInstance<Draft>();
  const type = Form.useWatch('schedule_type', form) ?? 'NONE';
  const { problem, shown } = usePreview();
  const zone = Form.useWatch('timezone', form) ?? shown?.timezone ?? null;
  const sayField = useFieldSaying();
  const wrong = problem?.errors.find(({ field }) => field === 'schedule_conf');
  const wrongZone = problem?.errors.find(({ field }) => field === 'timezone');
  return (
    <Panel title={t('sections.when')}>
      <Form.Item name="schedule_type" label={t('fields.schedule_type')} extra={t(`schedule.${type}.help`)}>
        <Radio.Group
          optionType="button"
          onChange={({ target }) =>
            form.setFieldsValue({ schedule_conf: FIRST_CONF[target.value as Draft['schedule_type']] })
          }
          options={SCHEDULES.map((one) => ({ value: one, label: t(`schedule.${one}.name`) }))}
        />
      </Form.Item>
      {type !== 'NONE' && (
        <>
          <Form.Item
            name="schedule_conf"
            label={t(`schedule.${type}.conf`)}
            rules={[{ required: true, message: t('required') }]}
            {...(wrong && { validateStatus: 'error' as const, help: sayField(wrong) })}
          >
            <ConfField type={type} refused={!!wrong} zone={zone} />
          </Form.Item>
          <div className="form-pair">
            <Form.Item
              name="timezone"
              label={t('fields.timezone')}
              {...(wrongZone && { validateStatus: 'error' as const, help: sayField(wrongZone) })}
            >
              <ZoneField />
            </Form.Item>
            <CalendarField />
          </div>
          <div className="form-pair">
            <Explained
              name="misfire_strategy"
              label={t('fields.misfire_strategy')}
              choices={MISFIRES}
              nameOf={(one) => t(`misfire.${one}.name`)}
              helpOf={(one) => t(`misfire.${one}.help`)}
            />
            {type === 'CRON' && (
              <Explained
                name="dst_policy"
                label={t('fields.dst_policy')}
                choices={DST}
                nameOf={(one) => t(`dst.${one}.name`)}
                helpOf={(one) => t(`dst.${one}.help`)}
              />
            )}
          </div>
          <Form.Item name="jitter" label={t('fields.jitter')} extra={t('help.jitter')}>
            <InputNumber min={0} max={3_600_000} suffix="ms" className="form-number" />
          </Form.Item>
        </>
      )}
    </Panel>
  );
}

interface ConfProps {
  type: Draft['schedule_type'];
  refused: boolean;
  zone: string | null;
  id?: string;
  value?: string;
  onChange?: (text: string) => void;
}

const LOCAL_TIME = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?)?$/;

function ConfField({ type, refused, zone, id, value = '', onChange = () => {} }: ConfProps) {
  if (type === 'CRON')
    return <CronField {...(id && { id })} value={value} onChange={onChange} refused={refused} zone={zone} />;
  const local = type === 'AT' && LOCAL_TIME.test(value);
  return (
    <Input
      id={id}
      className="mono form-conf"
      {...(local && { type: 'datetime-local', step: 1 })}
      value={value}
      maxLength={64}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function ZoneField({
  id,
  value,
  onChange,
}: {
  id?: string;
  value?: string | null;
  onChange?: (zone: string | null) => void;
}) {
  const { t } = useTranslation('jobEditor');
  return (
    <ZoneSelect
      {...(id && { id })}
      allowClear={useClearing()}
      value={value ?? null}
      onChange={(zone) => onChange?.(zone ?? null)}
      placeholder={t('defaultZone')}
    />
  );
}

function CalendarField() {
  const { t } = useTranslation('jobEditor');
  const calendars = useQuery(calendarsQuery).data?.items ?? [];
  if (calendars.length === 0) return null;
  return (
    <Form.Item name="calendar_id" label={t('fields.calendar_id')} extra={t('help.calendar')}>
      <ClearableSelect
        placeholder={t('noCalendar')}
        options={calendars.map((one) => ({ value: one.id, label: one.name }))}
      />
    </Form.Item>
  );
}
