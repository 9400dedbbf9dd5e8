import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { EmptyState } from '@/parts/EmptyState';

/** In the place of a job that is not there, or not to be seen. */
export function MissingJob() {
  const { t } = useTranslation('jobs');
  return (
    <EmptyState page title={t('missing.title')} action={<Link to="/jobs">{t('missing.back')}</Link>}>
      {t('missing.hint')}
    </EmptyState>
  );
}
