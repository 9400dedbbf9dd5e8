// The picture: rows of bars over a common time. Dragging zooms, pointing shows details, a click opens the execution.

import { type PointerEvent, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { usePreference } from '@/app/preferences';
import { Details, type Pointed } from '@/pages/timeline/Details';
import { Legend } from '@/pages/timeline/Legend';
import { LANE, offsetOf, type Row, type Span, ticks, within } from '@/pages/timeline/model';
import { RowMarks } from '@/pages/timeline/RowMarks';
import { useDisplayZone } from '@/parts/time/Instant';

const PADDING = 7;
const AXIS = 28;
const TICK_WIDTH = 90;
/** Pixels after which a press is a drag, not a click. */
const DRAGGED = 5;

interface Props {
  rows: Row[];
  span: Span;
  now: number;
  onZoom: (span: Span) => void;
}

/** A press that may become a drag; the execution it began on. */
interface Held {
  from: number;
  to: number;
  execution: string | null;
}

const heightOf = (row: Row) => row.lanes * LANE + 2 * PADDING;

export function Chart({ rows, span, now, onZoom }: Props) {
  const { t } = useTranslation('timeline');
  const navigate = useNavigate();
  const [width, place] = useWidth();
  const [held, setHeld] = useState<Held | null>(null);
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const scale = (at: number) => ((at - span.from) / (span.to - span.from)) * width;
  const instantAt = (x: number) => span.from + (x / Math.max(1, width)) * (span.to - span.from);
  const tops = useMemo(() => topsOf(rows), [rows]);
  const height = tops.at(-1) ?? 0;

  const xOf = (event: PointerEvent) => {
    const box = event.currentTarget.getBoundingClientRect();
    return Math.min(width, Math.max(0, event.clientX - box.left));
  };

  function letGo() {
    const drag = held;
    setHeld(null);
    if (drag && Math.abs(drag.to - drag.from) >= DRAGGED) {
      setPointed(null);
      const [first, last] = [Math.min(drag.from, drag.to), Math.max(drag.from, drag.to)].map(instantAt);
      if (first !== undefined && last !== undefined) onZoom(within({ from: first, to: last }));
    } else if (drag?.execution) {
      void navigate(`/executions/${drag.execution}`);
    }
  }

  return (
    <figure className="panel timeline" aria-label={t('chart', { rows: rows.length })}>
      <Axis span={span} width={width} />
      <div className="timeline-body">
        <ul className="timeline-names">
          {rows.map((row) => (
            <li key={row.key} style={{ height: heightOf(row) }}>
              <RowName row={row} />
              {row.covered > 0 && (
                <span className="timeline-covered muted" title={t('covered', { count: row.covered })}>
                  <span aria-hidden="true">+{row.covered}</span>
                  <span className="visually-hidden">{t('covered', { count: row.covered })}</span>
                </span>
              )}
            </li>
          ))}
        </ul>
        <div
          ref={place}
          className={`timeline-plot${held ? ' is-held' : ''}`}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            const pressed = (event.target as Element).closest('[data-execution]')?.getAttribute('data-execution');
            setHeld({ from: xOf(event), to: xOf(event), execution: pressed ?? null });
          }}
          onPointerMove={(event) => held && setHeld({ ...held, to: xOf(event) })}
          onPointerUp={letGo}
          onPointerCancel={() => setHeld(null)}
          onPointerLeave={() => setPointed(null)}
        >
          <svg width={width} height={height} role="img" aria-label={t('chart', { rows: rows.length })}>
            <Grid span={span} width={width} height={height} tops={tops} />
            {rows.map((row, index) => (
              <RowMarks
                key={row.key}
                row={row}
                top={(tops[index] ?? 0) + PADDING}
                scale={scale}
                width={width}
                onPoint={setPointed}
              />
            ))}
            <line className="timeline-now" x1={scale(now)} x2={scale(now)} y1={0} y2={height} />
            {held && (
              <rect
                className="timeline-held"
                x={Math.min(held.from, held.to)}
                width={Math.abs(held.to - held.from)}
                y={0}
                height={height}
              />
            )}
          </svg>
          {pointed && <Details pointed={pointed} width={width} />}
        </div>
      </div>
      <Legend rows={rows} />
    </figure>
  );
}

/** The top of each row, and the bottom of the last. */
function topsOf(rows: Row[]): number[] {
  const tops = [0];
  for (const row of rows) tops.push((tops.at(-1) ?? 0) + heightOf(row));
  return tops;
}

function RowName({ row }: { row: Row }) {
  if (row.jobId === null) return <span title={row.name}>{row.name}</span>;
  return (
    <Link to={`/jobs/${row.jobId}`} className="quiet" title={row.name}>
      {row.name}
    </Link>
  );
}

function useTicks(span: Span, width: number): number[] {
  const zone = useDisplayZone();
  return ticks(span, Math.max(2, Math.floor(width / TICK_WIDTH)), offsetOf(zone, span.from));
}

function Axis({ span, width }: { span: Span; width: number }) {
  const [language] = usePreference('language');
  const timeZone = useDisplayZone();
  const found = useTicks(span, width);
  const short = (found[1] ?? span.to) - (found[0] ?? span.from) < 60_000;
  const time: Intl.DateTimeFormatOptions = { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
  if (short) time.second = '2-digit';
  const half = short ? 28 : 20; // of a label, in pixels
  const clock = new Intl.DateTimeFormat(language, { timeZone, ...time });
  const day = new Intl.DateTimeFormat(language, { timeZone, day: 'numeric', month: 'short' });
  return (
    <div className="timeline-axis muted" style={{ height: AXIS }} aria-hidden="true">
      <span className="timeline-day">{day.format(span.from)}</span>
      <div className="timeline-ticks">
        {found.map((tick) => {
          const share = (tick - span.from) / (span.to - span.from);
          if (Math.min(share, 1 - share) * width < half) return null; // it would stick out
          const newDay = day.format(tick) !== day.format(tick - 1);
          return (
            <span key={tick} style={{ left: `${share * 100}%` }}>
              {newDay ? day.format(tick) : clock.format(tick)}
            </span>
          );
        })}
      </div>
    </div>
  );
}

function Grid({ span, width, height, tops }: { span: Span; width: number; height: number; tops: number[] }) {
  const found = useTicks(span, width);
  return (
    <g className="timeline-grid">
      {found.map((tick) => {
        const x = Math.round(((tick - span.from) / (span.to - span.from)) * width) + 0.5;
        return <line key={tick} x1={x} x2={x} y1={0} y2={height} />;
      })}
      {tops.slice(1, -1).map((top) => (
        <line key={`row ${top}`} x1={0} x2={width} y1={top - 0.5} y2={top - 0.5} />
      ))}
    </g>
  );
}

function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    setWidth(element.clientWidth);
    return () => watch.disconnect();
  }, []);
  return [width, place] as const;
}
