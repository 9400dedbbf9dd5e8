// Lets only signed-in people in; others go to the sign-in page and come back to where they were going. A one-time link
// (/?t=…) is taken there as well. When a session ends while somebody works, the page stays as it is, covered, until
// they sign in again: nothing they typed is lost. Another person gets a page of their own, and covers this one if they
// sign in in another tab.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Fragment, lazy, type ReactNode, Suspense, useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Navigate, useLocation } from 'react-router';
import { whenForbidden, whenSessionEnds } from '@/api/client';
import { lookAtRights, markEnded, sessionQuery } from '@/api/session';
import { whenSignedInElsewhere } from '@/api/tabs';
import { Waiting } from '@/app/Waiting';
import { ProblemNotice } from '@/parts/ProblemNotice';

export const LINK_PARAMETER = 't';

const loadSignInAgain = () => import('@/app/SignInAgain');
const SignInAgain = lazy(async () => ({ default: (await loadSignInAgain()).SignInAgain }));

export function SignedIn({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const location = useLocation();
  const session = useQuery(sessionQuery);
  useEffect(() => whenSessionEnds(() => markEnded(queries)), [queries]);
  useEffect(() => whenForbidden(() => void lookAtRights(queries)), [queries]);
  const own = session.data?.name;
  useEffect(() => whenSignedInElsewhere((name) => name !== own && void lookAtRights(queries)), [queries, own]);
  useReadyToAsk(!!session.data);
  const wasSignedIn = useRef(false);
  useEffect(() => {
    wasSignedIn.current ||= !!session.data;
  }, [session.data]);
  const link = new URLSearchParams(location.search).get(LINK_PARAMETER);
  if (link && location.pathname === '/') return <Navigate to="/login" state={{ link }} replace />;
  if (session.isPending) return <Waiting />;
  if (session.isError) {
    return (
      <div className="waiting">
        <ProblemNotice error={session.error} retry={() => session.refetch()} />
      </div>
    );
  }
  if (session.data === null) {
    // With one slash: with two it would be another host, to which a page does not lead.
    const from = `${location.pathname.replace(/^[/\\]+/, '/')}${location.search}${location.hash}`;
    // Who signed out has done with it, and the next person has not asked for it.
    return <Navigate to="/login" state={wasSignedIn.current ? null : { from }} replace />;
  }
  const { name, ended } = session.data;
  return (
    <>
      <Fragment key={name}>{children}</Fragment>
      {ended && (
        <Suspense>
          <SignInAgain session={session.data} />
        </Suspense>
      )}
    </>
  );
}

/** Fetches what asks to sign in again while the server still answers, but not before the page is there. */
function useReadyToAsk(signedIn: boolean): void {
  const { i18n } = useTranslation();
  useEffect(() => {
    if (!signedIn) return;
    return whenIdle(() => {
      // What cannot be fetched now is fetched when it is needed.
      void loadSignInAgain().catch(() => {});
      void i18n.loadNamespaces?.('login');
    });
  }, [signedIn, i18n]);
}

/** A page that is always busy gets it all the same, after so many milliseconds. */
const AT_THE_LATEST = 10_000;
/** Where a browser cannot say when it is idle: after so many. */
const LATER = 2_000;

function whenIdle(act: () => void): () => void {
  if (!('requestIdleCallback' in window)) {
    const timer = setTimeout(act, LATER);
    return () => clearTimeout(timer);
  }
  const asked = window.requestIdleCallback(act, { timeout: AT_THE_LATEST });
  return () => window.cancelIdleCallback(asked);
}
