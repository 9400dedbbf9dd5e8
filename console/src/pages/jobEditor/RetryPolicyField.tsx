import { Checkbox, Switch } from 'antd';
import { useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { RetryPolicy } from '@/api/types';
import { ClearableSelect } from '@/parts/clearable';
import { InputNumber } from '@/parts/InputNumber';

interface Props {
  value?: RetryPolicy | null;
  onChange?: (policy: RetryPolicy | null) => void;
}

const FIRST: RetryPolicy = { delay: 30, multiplier: 2, cap: 3_600 };
const ENDS = ['failed', 'timeout', 'trigger_failed'] as const;

/** Attempts follow at once, or after pauses that grow. */
export function RetryPolicyField({ value = null, onChange = () => {} }: Props) {
  const { t } = useTranslation(['jobEditor', 'status']);
  const id = useId();
  if (value === null) {
    return (
      <span className="switch-line">
        <Switch id={id} checked={false} onChange={() => onChange(FIRST)} />
        <label htmlFor={id}>{t('retry.pause')}</label>
      </span>
    );
  }
  const set = (change: Partial<RetryPolicy>) => onChange({ ...value, ...change });
  return (
    <div className="policy">
      <span className="switch-line">
        <Switch id={id} checked onChange={() => onChange(null)} />
        <label htmlFor={id}>{t('retry.pause')}</label>
      </span>
      <div className="policy-numbers">
        <InputNumber
          prefix={t('retry.delay')}
          suffix="s"
          min={0}
          aria-label={t('retry.delay')}
          value={value.delay ?? 0}
          onChange={(delay) => set({ delay: delay ?? 0 })}
        />
        <InputNumber
          prefix={t('retry.multiplier')}
          min={1}
          step={0.5}
          aria-label={t('retry.multiplier')}
          value={value.multiplier ?? 1}
          onChange={(multiplier) => set({ multiplier: multiplier ?? 1 })}
        />
        <InputNumber
          prefix={t('retry.cap')}
          suffix="s"
          min={0}
          aria-label={t('retry.cap')}
          value={value.cap ?? 0}
          onChange={(cap) => set({ cap: cap ?? 0 })}
        />
      </div>
      <Checkbox checked={(value.jitter ?? 0) > 0} onChange={({ target }) => set({ jitter: target.checked ? 0.2 : 0 })}>
        {t('retry.jitter')}
      </Checkbox>
      <ClearableSelect
        mode="multiple"
        placeholder={t('retry.giveUp')}
        aria-label={t('retry.giveUp')}
        value={value.give_up ?? []}
        onChange={(give_up) => set({ give_up })}
        options={ENDS.map((one) => ({ value: one, label: t(`status:name.${one}`) }))}
      />
    </div>
  );
}
