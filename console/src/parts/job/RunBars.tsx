import { useTranslation } from 'react-i18next';
import type { JobRun, Status } from '@/api/types';
import { counted, heights, took } from '@/parts/job/runs';
import { duration } from '@/parts/time/format';
import { LOOKS } from '@/status/statuses';
import '@/status/status.css';
import './job.css';

interface Props {
  /** Newest first, as the API gives them. */
  runs: readonly JobRun[];
  height?: number;
  width?: number;
}

const LOWEST = 0.35;
const CAP = 2;

/** The last runs, oldest first: the height is how long each took, colour and shape how it ended. */
export function RunBars({ runs, height = 22, width = 6 }: Props) {
  const { t } = useTranslation(['jobs', 'status']);
  if (runs.length === 0) return null;
  const inOrder = [...runs].reverse();
  const tall = heights(inOrder, LOWEST);
  const step = width + 2;
  const summary = Object.entries(counted(runs)).map(([status, n]) => `${t(`status:name.${status as Status}`)} ${n}`);
  return (
    <svg
      className="run-bars"
      role="img"
      aria-label={t('runs.label', { count: runs.length, summary: summary.join(', ') })}
      width={inOrder.length * step}
      height={height}
      viewBox={`0 0 ${inOrder.length * step} ${height}`}
      preserveAspectRatio="xMaxYMid slice" // where there is no room for all, the newest are seen
    >
      {inOrder.map((run, index) => {
        const time = took(run);
        return (
          <Bar key={run.id} status={run.status} x={index * step} width={width} whole={height} part={tall[index] ?? 0}>
            {`#${run.id} ${t(`status:name.${run.status}`)}${time === null ? '' : ` · ${duration(time)}`}`}
          </Bar>
        );
      })}
    </svg>
  );
}

interface BarProps {
  status: Status;
  x: number;
  width: number;
  whole: number;
  part: number;
  children: string;
}

/** What failed has a cap, what was not taken or has not ended is hollow: the shape says it without the colour. */
function Bar({ status, x, width, whole, part, children }: BarProps) {
  const look = LOOKS[status];
  const high = Math.round((whole - CAP - 2) * part);
  const hollow = look.outlined || status === 'pending' || status === 'init';
  const capped = status === 'failed' || status === 'timeout' || status === 'trigger_failed';
  return (
    <g className={`status-${look.colour}`} data-status={status}>
      <title>{children}</title>
      <rect className="run-ground" x={x} y={0} width={width} height={whole} />
      <rect
        className={hollow ? 'run-bar run-hollow' : 'run-bar'}
        x={hollow ? x + 0.5 : x}
        y={whole - high}
        width={hollow ? width - 1 : width}
        height={hollow ? Math.max(1, high - 0.5) : high}
        rx={1}
      />
      {capped && <rect className="run-bar" x={x} y={whole - high - CAP - 1.5} width={width} height={CAP} rx={1} />}
    </g>
  );
}
