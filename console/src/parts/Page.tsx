import type { ReactNode } from 'react';
import { visible } from '@/parts/log/ansi';
import { useTitle } from '@/parts/useTitle';
import './parts.css';

interface Props {
  title: string;
  intro?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

/** The frame of a page: its name, in the tab as well, and what can be done here. */
export function Page({ title, intro, actions, children }: Props) {
  useTitle(title);
  return (
    <>
      <div className="page-head">
        <div>
          <h1>{visible(title)}</h1>
          {intro && <p className="muted">{intro}</p>}
        </div>
        {actions && <div className="page-actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

/** A part of a page with a name. */
export function Panel({ title, extra, children, flush }: PanelProps) {
  return (
    <section className="panel">
      <header>
        <h2>{title}</h2>
        {extra}
      </header>
      <div className={flush ? undefined : 'panel-body'}>{children}</div>
    </section>
  );
}

interface PanelProps {
  title: string;
  extra?: ReactNode;
  children: ReactNode;
  /** Without a margin around what is inside, for tables and lists. */
  flush?: boolean;
}
