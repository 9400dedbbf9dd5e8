import type { QueryClient } from '@tanstack/react-query';
import { createBrowserRouter } from 'react-router';
import { prefix } from '@/api/base';
import { sessionQuery } from '@/api/session';
import { Fault, NotFound } from '@/app/errors';
import { goToLandingPage } from '@/app/landing';
import { PAGES, type PageEntry } from '@/app/pages';
import { Shell } from '@/app/Shell';
import { SignedIn } from '@/app/SignedIn';
import { Waiting } from '@/app/Waiting';
import { loadTexts } from '@/i18n/i18n';

export function makeRouter(queries: QueryClient) {
  goToLandingPage();
  return createBrowserRouter(
    [
      {
        path: '/login',
        lazy: async () => ({ Component: (await import('@/app/Login')).Login }),
        errorElement: <Fault />,
        hydrateFallbackElement: <Waiting />,
      },
      {
        element: (
          <SignedIn>
            <Shell />
          </SignedIn>
        ),
        errorElement: <Fault />,
        hydrateFallbackElement: <Waiting />,
        children: [
          ...PAGES.map((page) => ({
            path: page.path,
            lazy: () => loaded(page),
            loader: ({ request }: { request: Request }) => askAhead(queries, page, new URL(request.url).searchParams),
            errorElement: <Fault />,
          })),
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
    { basename: prefix.length > 1 ? prefix.replace(/\/$/, '') : '/' },
  );
}

/** A page with its texts: without them it would be drawn, taken back, and drawn again. */
async function loaded({ load, texts }: PageEntry) {
  const [page] = await Promise.all([load(), loadTexts([texts])]);
  return page;
}

/** Ask for the session and for what the page shows first; nobody waits for the answers here. */
function askAhead(queries: QueryClient, { asks }: PageEntry, params: URLSearchParams): null {
  const session = queries.ensureQueryData(sessionQuery);
  // What goes wrong here goes wrong again where it is shown.
  void Promise.all([session, asks?.()]).then(
    ([me, asking]) => me && !me.ended && asking?.ask(queries, params),
    () => {},
  );
  return null;
}
