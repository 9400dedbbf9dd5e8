import { CloseCircleFilled } from '@ant-design/icons';
import { useTranslation } from 'react-i18next';

function ClearIcon() {
  const { t } = useTranslation('common');
  return <CloseCircleFilled aria-label={t('clear')} />;
}

/** Of a text field that can be emptied by a button, which has no other words than its icon. */
export const CLEARABLE = { clearIcon: <ClearIcon /> };
