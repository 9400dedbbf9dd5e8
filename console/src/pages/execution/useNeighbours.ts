import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect } from 'react';
import { useNavigate } from 'react-router';
import { taken } from '@/app/keys';
import { relativesQuery } from '@/pages/execution/queries';

/** The runs of the job beside an execution; `[` and `]` lead to them. */
export function useNeighbours(id: number, stay: '' | '/log') {
  const navigate = useNavigate();
  const { data } = useQuery(relativesQuery(id));
  const go = useCallback((to: number) => void navigate(`/executions/${to}${stay}`), [navigate, stay]);
  const { previous = null, next = null } = data ?? {};
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      // Many keyboards have brackets only together with AltGr, which counts as Ctrl and Alt.
      const together = event.metaKey || (event.ctrlKey && !event.getModifierState('AltGraph'));
      if (taken(event) || together) return;
      if (event.key === '[' && previous) go(previous);
      if (event.key === ']' && next) go(next);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [previous, next, go]);
  return { previous, next, go, relatives: data };
}
