// Lets only signed-in people in; others go to the sign-in page and come back to where they were going. A one-time link
// (/?t=…) is taken there as well.

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect } from 'react';
import { Navigate, useLocation } from 'react-router';
import { whenSessionEnds } from '@/api/client';
import { sessionQuery } from '@/api/session';
import { Waiting } from '@/app/Waiting';
import { ProblemNotice } from '@/parts/ProblemNotice';

export const LINK_PARAMETER = 't';

export function SignedIn({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const location = useLocation();
  const session = useQuery(sessionQuery);
  useEffect(() => whenSessionEnds(() => queries.setQueryData(sessionQuery.queryKey, null)), [queries]);
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
    return <Navigate to="/login" state={{ from: `${location.pathname}${location.search}` }} replace />;
  }
  return children;
}
