import { useEffect } from 'react';

/** Names the page in the tab of the browser; null leaves that to others. */
export function useTitle(title: string | null): void {
  useEffect(() => {
    if (title !== null) document.title = `${title} · Orth`;
  }, [title]);
}
