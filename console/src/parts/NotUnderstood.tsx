import { Alert, Button } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Filters } from '@/parts/useUrlFilters';

interface Props<K extends string> {
  filters: Filters<K>;
  names: readonly K[];
  change: (changes: { [P in K]?: string | undefined }) => void;
}

/** Stands for a list whose address asks for what does not exist: to leave that out would show, and do, more. */
export function NotUnderstood<K extends string>({ filters, names, change }: Props<K>) {
  const { t } = useTranslation('common');
  const none = Object.fromEntries(names.map((name) => [name, undefined])) as { [P in K]?: undefined };
  return (
    <Alert
      type="warning"
      showIcon
      role="alert"
      title={t('notUnderstood.title')}
      description={
        <>
          <p className="mono">{names.map((name) => `${name}=${filters[name]}`).join(' ')}</p>
          {t('notUnderstood.text')}
        </>
      }
      action={
        <Button size="small" onClick={() => change(none)}>
          {t('notUnderstood.remove')}
        </Button>
      }
    />
  );
}
