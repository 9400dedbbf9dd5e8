import { Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { Outlet, useLocation } from 'react-router';
import { Navigation } from '@/app/Navigation';
import { TopBar } from '@/app/TopBar';
import { Waiting } from '@/app/Waiting';
import { LiveBanner } from '@/live/LiveBanner';
import { LiveProvider } from '@/live/LiveProvider';
import './shell.css';

/** What is around every page. */
export function Shell() {
  const { t } = useTranslation('common');
  const { pathname } = useLocation();
  return (
    <LiveProvider>
      <a className="skip-link" href="#content">
        {t('skip')}
      </a>
      <div className="shell">
        <Navigation />
        <div className="shell-main">
          <TopBar />
          <LiveBanner />
          <main id="content" tabIndex={-1} className="content">
            <Suspense key={pathname} fallback={<Waiting />}>
              <Outlet />
            </Suspense>
          </main>
        </div>
      </div>
    </LiveProvider>
  );
}
