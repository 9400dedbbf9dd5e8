import { Select, type SelectProps } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isZoneLike, useZones, zoneOrder } from '@/parts/time/zones';

interface Option {
  value: string;
  label: string;
}

type Props = Pick<
  SelectProps<string | null, Option>,
  'id' | 'value' | 'onChange' | 'allowClear' | 'placeholder' | 'className' | 'variant' | 'labelRender' | 'aria-label'
> & {
  /** What stands above the zones. */
  first?: readonly Option[];
  /** Which of the zones are offered; all, if it is not said. */
  only?: (zone: string) => boolean;
};

/** A time zone by its name, old or new. What is typed and is none is said to be none. */
export function ZoneSelect({ first = [], only = () => true, ...props }: Props) {
  const { t } = useTranslation('common');
  const [looked, setLooked] = useState(false);
  const [typed, setTyped] = useState('');
  const zones = useZones(looked).filter(only);
  const options = [...first, ...zones.map((one) => ({ value: one, label: one }))];
  // With nothing to choose, Enter would close the list as if something had been chosen.
  const found = options.some(({ label }) => isZoneLike(typed, label));
  return (
    <Select<string | null, Option>
      {...props}
      popupMatchSelectWidth={280}
      onOpenChange={(open) => open && setLooked(true)}
      onInputKeyDown={(event) => event.key === 'Enter' && !found && event.stopPropagation()}
      showSearch={{
        onSearch: setTyped,
        filterOption: (text, option) => isZoneLike(text, option?.label ?? ''),
        filterSort: (one, other, { searchValue }) => zoneOrder(searchValue, one.label, other.label),
      }}
      notFoundContent={t('zone.unknown', { typed })}
      options={options}
    />
  );
}
