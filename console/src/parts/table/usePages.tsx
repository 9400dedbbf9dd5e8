import type { TablePaginationConfig } from 'antd';
import { cloneElement, isValidElement, type ReactElement, useMemo } from 'react';
import { useTranslation } from 'react-i18next';

const ROWS = 50;

/** Pages of a table that is all there: its arrows have names, which those of the component library lack. */
export function usePages(): TablePaginationConfig {
  const { t } = useTranslation('common');
  return useMemo(() => {
    const names: Partial<Record<string, string>> = { prev: t('table.previousPage'), next: t('table.nextPage') };
    return {
      pageSize: ROWS,
      hideOnSinglePage: true,
      showSizeChanger: false,
      itemRender: (_, type, element) => {
        const name = names[type];
        if (name === undefined || !isValidElement(element)) return element;
        return cloneElement(element as ReactElement<{ 'aria-label'?: string }>, { 'aria-label': name });
      },
    };
  }, [t]);
}
