import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useRouteError } from 'react-router';
import { isLostFile } from '@/app/files';
import { LostFiles, reload } from '@/app/LostFiles';
import { EmptyState } from '@/parts/EmptyState';

/** A page that broke: the rest of the console goes on. */
export function Fault() {
  const { t } = useTranslation('common');
  const error = useRouteError();
  if (isLostFile(error)) return <LostFiles again={reload} />;
  return (
    <EmptyState
      title={t('errors.title')}
      action={
        <Button type="primary" onClick={reload}>
          {t('errors.reload')}
        </Button>
      }
    >
      {error instanceof Error ? error.message : String(error)}
    </EmptyState>
  );
}

export function NotFound() {
  const { t } = useTranslation('common');
  return (
    <EmptyState title={t('errors.notFoundTitle')} action={<Link to="/">{t('errors.home')}</Link>}>
      {t('errors.notFound')}
    </EmptyState>
  );
}

/** A page that shows what the person may not see. */
export function NotAllowed() {
  const { t } = useTranslation('common');
  return (
    <EmptyState title={t('errors.notAllowedTitle')} action={<Link to="/">{t('errors.home')}</Link>}>
      {t('errors.notAllowed')}
    </EmptyState>
  );
}
