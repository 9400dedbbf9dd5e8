import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useMay } from '@/api/session';
import { EmptyState } from '@/parts/EmptyState';

/** In the place of an execution that is not there or, for who sees some groups only, not to be seen. */
export function Missing() {
  const { t } = useTranslation('execution');
  const may = useMay();
  return (
    <EmptyState page title={t('missing.title')} action={<Link to="/executions">{t('missing.back')}</Link>}>
      {may('view') ? t('missing.hint') : t('missing.hintOfSome')}
    </EmptyState>
  );
}
