import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { allowsSomewhere, useMay, useSession } from '@/api/session';
import { Audit } from '@/pages/admin/Audit';
import { Secrets } from '@/pages/admin/Secrets';
import { Tokens } from '@/pages/admin/Tokens';
import { Users } from '@/pages/admin/Users';
import { EmptyState } from '@/parts/EmptyState';
import { Page } from '@/parts/Page';
import { PageTabs } from '@/parts/PageTabs';
import './admin.css';

/** Who may do what, with which credentials, and what was done. Who administers one group has only its secrets here. */
export function Admin() {
  const { t } = useTranslation('admin');
  const { tab } = useParams();
  const may = useMay();
  const session = useSession();
  if (!session || !allowsSomewhere(session.rights, 'administer')) {
    return (
      <EmptyState page title={t('notAllowed.title')} action={<Link to="/">{t('notAllowed.back')}</Link>}>
        {t('notAllowed.hint')}
      </EmptyState>
    );
  }
  const secrets = { key: 'secrets', label: t('tabs.secrets'), content: <Secrets /> };
  const tabs = may('administer')
    ? [
        { key: 'users', label: t('tabs.users'), content: <Users /> },
        { key: 'tokens', label: t('tabs.tokens'), content: <Tokens /> },
        secrets,
        { key: 'audit', label: t('tabs.audit'), content: <Audit /> },
      ]
    : [secrets];
  return (
    <Page title={t('title')} intro={t('intro')}>
      <PageTabs at={tab} base="/admin" tabs={tabs} />
    </Page>
  );
}
