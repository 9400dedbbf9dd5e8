import { createBrowserRouter } from 'react-router';
import { prefix } from '@/api/base';
import { Fault, NotFound } from '@/app/errors';
import { goToLandingPage } from '@/app/landing';
import { PAGES } from '@/app/pages';
import { Shell } from '@/app/Shell';
import { SignedIn } from '@/app/SignedIn';
import { Waiting } from '@/app/Waiting';

export function makeRouter() {
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
          ...PAGES.map(({ path, load }) => ({ path, lazy: load, errorElement: <Fault /> })),
          { path: '*', element: <NotFound /> },
        ],
      },
    ],
    { basename: prefix.length > 1 ? prefix.replace(/\/$/, '') : '/' },
  );
}
