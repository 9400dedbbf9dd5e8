// Groups by their names, for pages that show what belongs to one.

import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { api, got } from '@/api/client';
import type { Group } from '@/api/types';

export const groupsQuery = queryOptions({
  queryKey: ['groups', 'all'],
  queryFn: () => got(api.GET('/api/v1/groups', { params: { query: { limit: 200 } } })),
  staleTime: 60_000,
});

export interface Groups {
  all: Group[];
  /** What people call a group; its number when it is gone or not to be seen. */
  name: (id: number) => string;
}

export function useGroups(): Groups {
  const items = useQuery(groupsQuery).data?.items;
  return useMemo(() => {
    const names = new Map((items ?? []).map((one) => [one.id, one.title || one.app_name]));
    return { all: items ?? [], name: (id) => names.get(id) ?? `#${id}` };
  }, [items]);
}
