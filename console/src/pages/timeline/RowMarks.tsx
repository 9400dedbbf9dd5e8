import type { Pointed } from '@/pages/timeline/Details';
import { asDrawn, type Bar, type Fire, LANE, type Row } from '@/pages/timeline/model';
import { LOOKS, listedAs } from '@/status/statuses';

const THICK = 10;
/** The least width of a bar in pixels: what is short is seen all the same. */
const NARROW = 4;
/** Half of the mark of a fire. */
const ROUND = 4;

interface Props {
  row: Row;
  top: number;
  width: number;
  scale: (at: number) => number;
  onPoint: (pointed: Pointed | null) => void;
}

/** The bars of a row, and the fires to come: hollow, for nothing has happened yet. */
export function RowMarks({ row, top, width, scale, onPoint }: Props) {
  const middle = top + (row.lanes * LANE) / 2;
  const often = row.oftenFrom === null ? null : Math.max(0, scale(row.oftenFrom));
  return (
    <g>
      {onTop(row.bars).map((bar) => (
        <BarMark key={bar.execution.id} bar={bar} y={top + bar.lane * LANE + 2} scale={scale} onPoint={onPoint} />
      ))}
      {asDrawn(row.fires, scale, 2 * ROUND + 1).map((fires) => (
        <FireMark key={fires[0]?.at} fires={fires} y={middle} scale={scale} onPoint={onPoint} />
      ))}
      {often !== null && often < width && (
        <rect className="timeline-often" x={often} width={width - often} y={middle - 4} height={8} rx={4} />
      )}
    </g>
  );
}

/** Successes are drawn first, below the rest: short bars that follow each other closely are wider than their time. */
function onTop(bars: readonly Bar[]): Bar[] {
  const isSuccess = (bar: Bar) => bar.execution.status === 'success';
  return [...bars.filter(isSuccess), ...bars.filter((bar) => !isSuccess(bar))];
}

interface BarProps {
  bar: Bar;
  y: number;
  scale: (at: number) => number;
  onPoint: (pointed: Pointed | null) => void;
}

function BarMark({ bar, y, scale, onPoint }: BarProps) {
  const { status, id } = bar.execution;
  const look = LOOKS[listedAs(bar.execution)];
  const from = scale(bar.from);
  const size = Math.max(NARROW, scale(bar.to) - from);
  const waited = from - scale(bar.opened);
  const kind = look.outlined || status === 'init' ? ' is-hollow' : '';
  if (bar.waits) {
    return (
      <g
        className={`timeline-bar status-${look.colour} is-hollow`}
        data-execution={id}
        data-status={status}
        data-waits
        onPointerEnter={() => onPoint({ kind: 'bar', bar, x: from + size / 2, y: y + THICK })}
        onPointerLeave={() => onPoint(null)}
      >
        <rect className="timeline-reach" x={from} y={y} width={size} height={THICK} rx={2.5} />
        <line x1={from} x2={from + size} y1={y + THICK / 2} y2={y + THICK / 2} />
        <rect x={from + size - NARROW} y={y + (THICK - NARROW) / 2} width={NARROW} height={NARROW} rx={1} />
      </g>
    );
  }
  return (
    <g
      className={`timeline-bar status-${look.colour}${kind}`}
      data-execution={id}
      data-status={status}
      onPointerEnter={() => onPoint({ kind: 'bar', bar, x: from + size / 2, y: y + THICK })}
      onPointerLeave={() => onPoint(null)}
    >
      {waited >= 2 && <line x1={from - waited} x2={from} y1={y + THICK / 2} y2={y + THICK / 2} />}
      <rect x={from} y={y} width={size} height={THICK} rx={2.5} />
    </g>
  );
}

interface FireProps {
  fires: readonly Fire[];
  y: number;
  scale: (at: number) => number;
  onPoint: (pointed: Pointed | null) => void;
}

/** A ring for one fire, drawn out where many are too close: each ring on the next they would be a dark bar. */
function FireMark({ fires, y, scale, onPoint }: FireProps) {
  const [first, last] = [fires[0], fires.at(-1)];
  if (!first || !last) return null;
  const x = scale(first.at);
  return (
    <rect
      className="timeline-fire"
      x={x - ROUND}
      y={y - ROUND}
      width={scale(last.at) - x + 2 * ROUND}
      height={2 * ROUND}
      rx={ROUND}
      onPointerEnter={() => onPoint({ kind: 'fire', fire: first, x, y: y + ROUND })}
      onPointerLeave={() => onPoint(null)}
    />
  );
}
