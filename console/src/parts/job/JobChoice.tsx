import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Spin } from 'antd';
import { useDeferredValue, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { jobNameQuery, jobsNamedQuery } from '@/api/jobs';
import { ClearableSelect } from '@/parts/clearable';

interface Props {
  /** Of the field, where it is one of a form. */
  id?: string;
  className?: string;
  value?: number | undefined;
  onChange?: (value: number | undefined) => void;
  /** Whether a job of this group can be chosen; the others are shown all the same. */
  allowed?: (group: number) => boolean;
}

/** One job, found by part of its name: there may be too many to list them all. */
export function JobChoice({ id, className, value, onChange, allowed = () => true }: Props) {
  const { t } = useTranslation('common');
  const [open, setOpen] = useState(false);
  const [said, setSaid] = useState('');
  const text = useDeferredValue(said.trim());
  const found = useQuery({ ...jobsNamedQuery(text), enabled: open, placeholderData: keepPreviousData });
  const chosen = useQuery({ ...jobNameQuery(value ?? 0), enabled: value !== undefined && value > 0, retry: false });
  const options = (found.data ?? []).map((job) => ({ value: job.id, label: job.name, disabled: !allowed(job.group) }));
  if (value !== undefined && !options.some((one) => one.value === value)) {
    options.unshift({ value, label: chosen.data?.name ?? t('jobChoice.one', { id: value }), disabled: false });
  }
  return (
    <ClearableSelect
      {...(id !== undefined && { id })}
      {...(className !== undefined && { className })}
      showSearch={{ filterOption: false, onSearch: setSaid }}
      popupMatchSelectWidth={320}
      placeholder={t('jobChoice.any')}
      {...(id === undefined && { 'aria-label': t('jobChoice.any') })}
      notFoundContent={found.isPending ? <Spin size="small" /> : t('jobChoice.none')}
      value={value ?? null}
      onOpenChange={(now) => {
        setOpen(now);
        if (!now) setSaid('');
      }}
      onChange={(one) => onChange?.(one ?? undefined)}
      options={open ? options : options.filter((one) => one.value === value)}
    />
  );
}
