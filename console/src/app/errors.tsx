import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useRouteError } from 'react-router';
import { useSession } from '@/api/session';
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
      page
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
    <EmptyState page title={t('errors.notFoundTitle')} action={<Link to="/">{t('errors.home')}</Link>}>
      {t('errors.notFound')}
    </EmptyState>
  );
}

/** In the place of every page, for somebody who may see nothing at all. */
export function NoRole() {
  const { t } = useTranslation('common');
  const name = useSession()?.name ?? '';
  return (
    <EmptyState page title={t('errors.noRoleTitle')} action={<Link to="/account">{t('user.account')}</Link>}>
      {t('errors.noRole', { name })}
    </EmptyState>
  );
}

/** A page that shows what the person may not see. */
export function NotAllowed() {
  const { t } = useTranslation('common');
  return (
    <EmptyState page title={t('errors.notAllowedTitle')} action={<Link to="/">{t('errors.home')}</Link>}>
      {t('errors.notAllowed')}
    </EmptyState>
  );
}
