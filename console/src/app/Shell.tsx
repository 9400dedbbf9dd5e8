import { type MouseEvent, Suspense, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, Outlet, useHref, useLocation } from 'react-router';
import { useMaySomewhere } from '@/api/session';
import { NoRole } from '@/app/errors';
import { useBarredLanding } from '@/app/landing';
import { Navigation } from '@/app/Navigation';
import { TopBar } from '@/app/TopBar';
import { Waiting } from '@/app/Waiting';
import { LiveBanner } from '@/live/LiveBanner';
import { LiveProvider } from '@/live/LiveProvider';
import { useRowKeys } from '@/parts/table/rowKeys';
import './shell.css';

/** What everybody may open. */
const OWN = '/account';

/** What is around every page. */
export function Shell() {
  const { t } = useTranslation('common');
  const { pathname, search } = useLocation();
  const content = useHref({ pathname, search, hash: 'content' });
  const main = useRef<HTMLElement>(null);
  useRowKeys(main);
  const barred = useBarredLanding(pathname);
  const without = !useMaySomewhere()('view') && pathname !== OWN;

  /** An address that is only a fragment would lead to the root: it is taken from the <base> of the page. */
  function skip(event: MouseEvent) {
    event.preventDefault();
    main.current?.focus();
  }

  return (
    <LiveProvider>
      <a className="skip-link" href={content} onClick={skip}>
        {t('skip')}
      </a>
      <div className="shell">
        <Navigation />
        <div className="shell-main">
          <TopBar />
          <LiveBanner />
          <main ref={main} id="content" tabIndex={-1} className="content">
            <Suspense key={pathname} fallback={<Waiting />}>
              {barred ? <Navigate to="/" replace /> : without ? <NoRole /> : <Outlet />}
            </Suspense>
          </main>
        </div>
      </div>
    </LiveProvider>
  );
}
