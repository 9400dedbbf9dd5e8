import { SearchOutlined } from '@ant-design/icons';
import { Button, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { CLEARABLE } from '@/parts/clearable';

interface Props {
  className: string;
  label: string;
  value: string | undefined;
  onSearch: (text: string) => void;
}

/** A text by which a list is narrowed, with Enter or the button. */
export function SearchField({ className, label, value, onSearch }: Props) {
  const { t } = useTranslation('common');
  return (
    <Input.Search
      key={value}
      className={className}
      allowClear={CLEARABLE}
      defaultValue={value}
      maxLength={200}
      placeholder={label}
      aria-label={label}
      enterButton={<Button icon={<SearchOutlined />} aria-label={t('search.go')} />}
      onSearch={(text) => onSearch(text.trim())}
    />
  );
}
