import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { addressesQuery } from '@/pages/executions/queries';
import { ClearableSelect } from '@/parts/clearable';

interface Props {
  value: string | undefined;
  onChange: (address: string | undefined) => void;
}

/** The address of an executor: one that is registered, or typed, for what ran on one that is gone is still there. */
export function ExecutorChoice({ value, onChange }: Props) {
  const { t } = useTranslation('executions');
  const [open, setOpen] = useState(false);
  const [said, setSaid] = useState('');
  const known = useQuery({ ...addressesQuery, enabled: open }).data ?? [];
  return (
    <ClearableSelect
      showSearch={{ onSearch: setSaid }}
      className="filter-choice"
      popupMatchSelectWidth={280}
      placeholder={t('filters.executor')}
      aria-label={t('filters.executor')}
      value={value ?? null}
      onOpenChange={(now) => {
        setOpen(now);
        if (!now) setSaid('');
      }}
      onChange={(chosen: string | null | undefined) => onChange(chosen ?? undefined)}
      options={offered(known, [value, said]).map((address) => ({ value: address, label: address }))}
    />
  );
}

/** The addresses that are known and those that were typed or chosen, each once; typed as the list shows them, too. */
export function offered(known: readonly string[], others: readonly (string | undefined)[]): string[] {
  const added = others.map((one) => one?.trim()).filter((one): one is string => !!one);
  return [...new Set([...known, ...added.map((one) => meant(known, one))])];
}

/** Who types `10.0.0.7:9999` means an address that begins with its protocol, which lists leave out. */
function meant(known: readonly string[], typed: string): string {
  if (typed.includes('://')) return typed;
  return known.find((one) => one.endsWith(`://${typed}`)) ?? (/:\d+$/.test(typed) ? `http://${typed}` : typed);
}
