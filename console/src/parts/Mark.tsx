import type { ReactNode } from 'react';
import type { StatusColours } from '@/theme/tokens';
import '@/status/status.css';

/** A word about something, in one of our colours: Ant Design's own are too pale to read in one theme or the other. */
export function Mark({ colour, children }: { colour: keyof StatusColours; children: ReactNode }) {
  return <span className={`status-tag status-${colour}`}>{children}</span>;
}
