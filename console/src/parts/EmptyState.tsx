import type { ReactNode } from 'react';
import { CopyButton } from '@/parts/CopyButton';
import './parts.css';

interface Props {
  icon?: ReactNode;
  title: string;
  children?: ReactNode;
  /** A command or a piece of code that gets one further. */
  snippet?: string;
  action?: ReactNode;
}

/** Nothing is there, and what to do about it. */
export function EmptyState({ icon, title, children, snippet, action }: Props) {
  return (
    <div className="empty-state">
      {icon && (
        <div className="empty-icon" aria-hidden="true">
          {icon}
        </div>
      )}
      <h3>{title}</h3>
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
