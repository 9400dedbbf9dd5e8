import type { ReactNode } from 'react';
import type { StatusColours } from '@/theme/tokens';
import '@/status/status.css';
import './parts.css';

export interface BadgeLook {
  colour: keyof StatusColours;
  icon: ReactNode;
  outlined?: boolean;
  /** Something is about to change by itself. */
  pulsing?: boolean;
}

/** A state as colour, icon and word together, so that none of them is needed alone. */
export function Badge({ look, children, title }: { look: BadgeLook; children: ReactNode; title?: string }) {
  const kind = `${look.outlined ? ' status-outlined' : ''}${look.pulsing ? ' badge-pulsing' : ''}`;
  return (
    <span className={`status-tag badge status-${look.colour}${kind}`} title={title}>
      <span aria-hidden="true">{look.icon}</span>
      <span>{children}</span>
    </span>
  );
}
