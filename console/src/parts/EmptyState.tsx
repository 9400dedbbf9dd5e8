import type { ReactNode } from 'react';
import { CopyButton } from '@/parts/CopyButton';
import { useTitle } from '@/parts/useTitle';
import './parts.css';

interface Props {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  /** A command or a piece of code that gets one further. */
  snippet?: string;
  action?: ReactNode;
  /** It stands in the place of a page: its title is the page's, in the tab as well. */
  page?: boolean;
}

/** Nothing is there, and what to do about it. */
export function EmptyState({ icon, title, children, snippet, action, page }: Props) {
  const Heading = page ? 'h1' : 'h2';
  useTitle(page ? title : null);
  return (
    <div className="empty-state">
      {icon && (
        <div className="empty-icon" aria-hidden="true">
          {icon}
        </div>
      )}
      <Heading className="empty-title">{title}</Heading>
      {children && <p className="muted">{children}</p>}
      {snippet && (
        <div className="snippet">
          <pre>{snippet}</pre>
          <CopyButton text={snippet} />
        </div>
      )}
      {action}
    </div>
  );
}
