import { useEffect } from 'react';
import { visible } from '@/parts/log/ansi';

/** Names the page in the tab of the browser, with what would turn or hide text spelled out; null leaves that to others. */
export function useTitle(title: string | null): void {
  useEffect(() => {
    if (title !== null) document.title = `${visible(title)} · Orth`;
  }, [title]);
}
