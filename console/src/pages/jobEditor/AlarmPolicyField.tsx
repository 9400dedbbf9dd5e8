import { useQuery } from '@tanstack/react-query';
import { Checkbox } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { ClearableSelect } from '@/parts/clearable';
import { InputNumber } from '@/parts/InputNumber';
import type { Draft } from '@/parts/job/draft';

type Stored = Draft['alarm_policy'];

interface Props {
  value?: Stored;
  onChange?: (policy: Stored) => void;
}

const MAIL = 'mail';

/** What is told of the job's failures, and where. What is as the settings say is not said again. */
export function AlarmPolicyField({ value = null, onChange = () => {} }: Props) {
  const { t } = useTranslation('jobEditor');
  const channels = useQuery({
    queryKey: ['alarms', 'channels', 'names'],
    queryFn: () => got(api.GET('/api/v1/alarms/channels', { params: { query: { limit: 200 } } })),
  }).data?.items;
  const policy = value ?? {};
  function set(name: string, said: unknown) {
    const rest = Object.fromEntries(Object.entries(policy).filter(([key]) => key !== name));
    const changed = said === undefined ? rest : { ...rest, [name]: said };
    onChange(Object.keys(changed).length === 0 ? null : changed);
  }
  const repeat = typeof policy.repeat === 'number' ? policy.repeat / 60 : null;
  const names = [MAIL, ...(channels ?? []).map((one) => one.name).filter((name) => name !== MAIL)];
  return (
    <div className="policy">
      <Checkbox
        checked={policy.each === true}
        onChange={({ target }) => set('each', target.checked ? true : undefined)}
      >
        {t('alarms.each')}
      </Checkbox>
      <Checkbox
        checked={policy.resolved !== false}
        onChange={({ target }) => set('resolved', target.checked ? undefined : false)}
      >
        {t('alarms.resolved')}
      </Checkbox>
      <InputNumber
        className="form-number"
        prefix={t('alarms.repeat')}
        suffix={t('alarms.minutes')}
        min={0}
        aria-label={t('alarms.repeat')}
        placeholder={t('alarms.asSet')}
        value={repeat}
        onChange={(minutes) => set('repeat', minutes === null ? undefined : Math.round(minutes * 60))}
      />
      <ClearableSelect
        mode="multiple"
        placeholder={t('alarms.everyChannel')}
        aria-label={t('alarms.channels')}
        value={Array.isArray(policy.channels) ? policy.channels : []}
        onChange={(chosen: string[]) => set('channels', chosen.length > 0 ? chosen : undefined)}
        options={names.map((name) => ({ value: name, label: name }))}
      />
    </div>
  );
}
