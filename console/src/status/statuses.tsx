// What each status looks like. The table is complete by its type: a status that is added to the API and not here does
// not compile.

import type { ReactNode } from 'react';
import type { Status } from '@/api/types';
import type { StatusColours } from '@/theme/tokens';

export interface Look {
  colour: keyof StatusColours;
  /** Trigger Failed has the red of Failed: being outlined and its icon keep them apart. */
  outlined: boolean;
  moving: boolean;
  icon: ReactNode;
}

const stroke = { fill: 'none', stroke: 'currentColor', strokeWidth: 1.8, strokeLinecap: 'round' as const };

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg className="status-icon" viewBox="0 0 16 16" aria-hidden="true">
      {children}
    </svg>
  );
}

/** What lists are filtered by. What was cancelled before it began has the status of a failure, and is listed as none. */
export type ListedStatus = Status | 'cancelled';

export const LOOKS: Record<ListedStatus, Look> = {
  init: {
    colour: 'gray',
    outlined: false,
    moving: false,
    icon: (
      <Icon>
        <circle cx="8" cy="8" r="5.5" {...stroke} />
      </Icon>
    ),
  },
  pending: {
    colour: 'blue',
    outlined: false,
    moving: true,
    icon: (
      <Icon>
        <circle cx="8" cy="8" r="5.5" {...stroke} />
        <path d="M8 2.5a5.5 5.5 0 0 1 0 11z" fill="currentColor" />
      </Icon>
    ),
  },
  success: {
    colour: 'green',
    outlined: false,
    moving: false,
    icon: (
      <Icon>
        <path d="M3 8.5l3.2 3.2L13 5" {...stroke} />
      </Icon>
    ),
  },
  failed: {
    colour: 'red',
    outlined: false,
    moving: false,
    icon: (
      <Icon>
        <path d="M4 4l8 8M12 4l-8 8" {...stroke} />
      </Icon>
    ),
  },
  trigger_failed: {
    colour: 'red',
    outlined: true,
    moving: false,
    icon: (
      <Icon>
        <path d="M8 2.2L14.4 13.4H1.6z" {...stroke} strokeLinejoin="round" strokeWidth={1.5} />
        <path d="M8 6.2v3.2M8 11.4v.2" {...stroke} strokeWidth={1.6} />
      </Icon>
    ),
  },
  timeout: {
    colour: 'orange',
    outlined: false,
    moving: false,
    icon: (
      <Icon>
        <path
          d="M4 2.5h8M4 13.5h8M5 2.5c0 3 3 3.6 3 5.5s-3 2.5-3 5.5M11 2.5c0 3-3 3.6-3 5.5s3 2.5 3 5.5"
          {...stroke}
          strokeWidth={1.5}
        />
      </Icon>
    ),
  },
  cancelled: {
    colour: 'gray',
    outlined: true,
    moving: false,
    icon: (
      <Icon>
        <circle cx="8" cy="8" r="5.5" {...stroke} />
        <path d="M4.2 11.8l7.6-7.6" {...stroke} />
      </Icon>
    ),
  },
};

/** What an execution is shown and listed as. */
export function listedAs({ status, cancelled }: { status: Status; cancelled?: boolean | undefined }): ListedStatus {
  return cancelled ? 'cancelled' : status;
}

export const STATUSES = Object.keys(LOOKS) as ListedStatus[];

export const TERMINAL: Record<ListedStatus, boolean> = {
  init: false,
  pending: false,
  success: true,
  failed: true,
  trigger_failed: true,
  timeout: true,
  cancelled: true,
};

/** The status a pair of codes stands for; the same derivation as the server's. */
export function statusOf(triggerCode: number, handleCode: number): Status {
  if (triggerCode !== 0 && triggerCode !== 200) return 'trigger_failed';
  if (handleCode === 0) return triggerCode === 0 ? 'init' : 'pending';
  if (handleCode === 200) return 'success';
  return handleCode === 502 ? 'timeout' : 'failed';
}
