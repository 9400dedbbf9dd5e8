import type { TableProps } from 'antd';
import { useTranslation } from 'react-i18next';

/** What rows show when they are opened, in a column that has a name for those who cannot see its signs. */
export function useDetails<Row>(expandable: TableProps<Row>['expandable']): Pick<TableProps<Row>, 'expandable'> {
  const { t } = useTranslation('common');
  if (!expandable) return {};
  return { expandable: { ...expandable, columnTitle: <span className="visually-hidden">{t('table.details')}</span> } };
}
