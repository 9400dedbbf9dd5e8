import type { QueryClient } from '@tanstack/react-query';
import type { ComponentType } from 'react';
import { createBrowserRouter, useLoaderData } from 'react-router';
import { prefix } from '@/api/base';
import { sessionQuery, useSession } from '@/api/session';
import { Fault, NotAllowed, NotFound } from '@/app/errors';
import { fetchLostStyles, once } from '@/app/files';
import { goToLandingPage } from '@/app/landing';
import { mayOpen } from '@/app/offeredPages';
import { PAGES, type PageEntry } from '@/app/pages';
import { SignedIn } from '@/app/SignedIn';
import { Waiting } from '@/app/Waiting';
import { loadTexts } from '@/i18n/i18n';

export function makeRouter(queries: QueryClient) {
  goToLandingPage();
  return createBrowserRouter(
    [
      {
        path: '/login',
        loader: once(async () => (await import('@/app/Login')).Login),
        Component: Loaded,
        errorElement: <Fault />,
        hydrateFallbackElement: <Waiting />,
      },
      {
        loader: once(async () => (await import('@/app/Shell')).Shell), // beside the page in it, not before it
        element: (
          <SignedIn>
            <Loaded />
          </SignedIn>
        ),
        errorElement: <Fault />,
        hydrateFallbackElement: <Waiting />,
        children: [
          ...PAGES.map((page) => {
            const load = once(() => loaded(page));
            return {
              path: page.path,
              loader: ({ request }: { request: Request }) => {
                askAhead(queries, page, new URL(request.url).searchParams);
                return load();
              },
              element: page.everywhere ? <OnlyIfAllowed page={page} /> : <Loaded />,
              errorElement: <Fault />,
            };
          }),
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
    { basename: prefix }, // with its slash: without it, a reload of the dashboard would look for files one level above
  );
}

/** A page with its texts: without them it would be drawn, taken back, and drawn again. */
async function loaded({ load, texts }: PageEntry): Promise<ComponentType> {
  const [page] = await Promise.all([load(), loadTexts([texts]), fetchLostStyles()]);
  return page.Component;
}

/** The page that its loader fetched. A `lazy` route that cannot be fetched would be an empty place, without its error. */
function Loaded() {
  const Component = useLoaderData() as ComponentType;
  return <Component />;
}

/** What belongs to no group is refused as a whole to who has a role in some groups only: nothing of it is asked for. */
function OnlyIfAllowed({ page }: { page: PageEntry }) {
  const session = useSession();
  return session && mayOpen(session.rights, page) ? <Loaded /> : <NotAllowed />;
}

/** Ask for the session and for what the page shows first; nobody waits for the answers here. */
function askAhead(queries: QueryClient, page: PageEntry, params: URLSearchParams): void {
  const session = queries.ensureQueryData(sessionQuery);
  // What goes wrong here goes wrong again where it is shown.
  void Promise.all([session, page.asks?.()]).then(
    ([me, asking]) => me && !me.ended && mayOpen(me.rights, page) && asking?.ask(queries, params),
    () => {},
  );
}
