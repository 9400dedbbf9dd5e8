import { CloseCircleFilled } from '@ant-design/icons';
import { Select, type SelectProps } from 'antd';
import type { DefaultOptionType } from 'antd/es/select';
import { useTranslation } from 'react-i18next';

function ClearIcon() {
  const { t } = useTranslation('common');
  return <CloseCircleFilled aria-label={t('clear')} />;
}

/** Of a text field that can be emptied by a button, which has no other words than its icon. */
export const CLEARABLE = { clearIcon: <ClearIcon /> };

/** Of a choice that can be taken back. Ant Design names the button for that in English only. */
export function useClearing() {
  const { t } = useTranslation('common');
  return { clearIcon: <CloseCircleFilled />, label: t('clear') };
}

type Props<Value, Option extends DefaultOptionType> = Omit<SelectProps<Value, Option>, 'allowClear'>;

export function ClearableSelect<Value = unknown, Option extends DefaultOptionType = DefaultOptionType>(
  props: Props<Value, Option>,
) {
  return <Select<Value, Option> {...props} allowClear={useClearing()} />;
}
