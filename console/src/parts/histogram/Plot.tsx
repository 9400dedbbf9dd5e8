// The frame of a chart over time: scale, ticks, and the bar that somebody points at. Dragging over bars chooses a span; so
// do the arrow keys with Enter. What is drawn in it is given.

import { type KeyboardEvent, type PointerEvent, type ReactNode, useMemo, useState } from 'react';
import type { Histogram as Shown } from '@/api/types';
import { usePreference } from '@/app/preferences';
import { ticksAt } from '@/parts/histogram/layout';
import { useDisplayZone } from '@/parts/time/Instant';
import { useMedia } from '@/theme/useMedia';
import './histogram.css';

export interface Span {
  since: string;
  until: string;
}

interface Props {
  label: string;
  height: number;
  bucket: Shown['bucket'];
  /** When each bar begins. */
  starts: readonly number[];
  /** What the top of the scale stands for. */
  top: string;
  /** What a bar says, in words. */
  told: (index: number) => string;
  /** What is below the bars: of the one that is pointed at, or of all. */
  foot: (index: number | null) => ReactNode;
  /** Called with the span that was chosen; without it, bars are only looked at. */
  onChoose?: ((span: Span) => void) | undefined;
  /** Drawn 10 wide for each bar, and 100 high. */
  children: ReactNode;
}

/** Times below the bars; on a telephone more would run together. */
const MOST_TICKS = 8;
const FEW_TICKS = 4;
const SIZE = { hour: 3_600_000, day: 86_400_000 };

export function Plot({ label, height, bucket, starts, top, told, foot, onChoose, children }: Props) {
  const [held, setHeld] = useState<{ from: number; to: number } | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const words = useWords(bucket);
  const count = Math.max(1, starts.length);
  const most = useMedia('(max-width: 600px)') ? FEW_TICKS : MOST_TICKS;
  const ticks = useMemo(() => ticksAt(bucket, starts, most, words.hourOf), [bucket, starts, most, words.hourOf]);

  function choose(one: number, other: number) {
    const [first, last] = [starts[Math.min(one, other)], starts[Math.max(one, other)]];
    if (first === undefined || last === undefined) return;
    onChoose?.({ since: new Date(first).toISOString(), until: new Date(last + SIZE[bucket]).toISOString() });
  }

  function under(event: PointerEvent): number {
    const box = event.currentTarget.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    return Math.min(count - 1, Math.max(0, Math.floor(share * count)));
  }

  function onKeyDown(event: KeyboardEvent) {
    const here = at ?? count - 1;
    if (event.key === 'ArrowLeft') setAt(Math.max(0, here - 1));
    else if (event.key === 'ArrowRight') setAt(Math.min(count - 1, here + 1));
    else if (event.key === 'Enter' && onChoose) choose(here, here);
    else return;
    event.preventDefault();
  }

  const pointed = at === null ? undefined : starts[at];
  const edge = held ?? (at === null ? null : { from: at, to: at });
  return (
    <figure className="histogram" aria-label={label}>
      <div className="histogram-scale muted" style={{ height }} aria-hidden="true">
        <span>{top}</span>
        <span>0</span>
      </div>
      <div className="histogram-plot">
        <div
          role="slider"
          tabIndex={0}
          aria-label={label}
          aria-valuemin={0}
          aria-valuemax={count - 1}
          aria-valuenow={at ?? count - 1}
          aria-valuetext={at !== null && pointed !== undefined ? `${words.span(pointed)}: ${told(at)}` : undefined}
          className={`histogram-bars${onChoose ? ' can-choose' : ''}`}
          style={{ height }}
          onKeyDown={onKeyDown}
          onBlur={() => setAt(null)}
          onPointerDown={(event) => {
            if (!onChoose) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            setHeld({ from: under(event), to: under(event) });
          }}
          onPointerMove={(event) => {
            const here = under(event);
            setAt(here);
            if (held) setHeld({ ...held, to: here });
          }}
          onPointerUp={() => {
            if (held) choose(held.from, held.to);
            setHeld(null);
          }}
          onPointerLeave={() => setAt(null)}
        >
          <svg viewBox={`0 0 ${count * 10} 100`} preserveAspectRatio="none" aria-hidden="true">
            <line x1="0" x2={count * 10} y1="50" y2="50" className="histogram-line" />
            {edge && (
              <rect
                className="histogram-edge"
                x={Math.min(edge.from, edge.to) * 10}
                width={(Math.abs(edge.to - edge.from) + 1) * 10}
                y="0"
                height="100"
              />
            )}
            {children}
          </svg>
        </div>
        <div className="histogram-ticks muted" aria-hidden="true">
          {ticks.map(({ index, day }) => (
            <span key={index} style={{ left: `${((index + (bucket === 'day' ? 0.5 : 0)) / count) * 100}%` }}>
              {words.tick(starts[index] ?? 0, day)}
            </span>
          ))}
        </div>
        <div className="histogram-foot muted">
          <span className="histogram-legend" aria-live="off">
            {pointed !== undefined && <strong>{words.span(pointed)}</strong>}
            {foot(at)}
          </span>
        </div>
      </div>
    </figure>
  );
}

function useWords(bucket: Shown['bucket']) {
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  return useMemo(() => {
    const timeZone = bucket === 'hour' ? zone : 'UTC';
    const day: Intl.DateTimeFormatOptions = { timeZone, day: 'numeric', month: 'short' };
    const time: Intl.DateTimeFormatOptions = { timeZone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' };
    const [days, times] = [new Intl.DateTimeFormat(language, day), new Intl.DateTimeFormat(language, time)];
    const spans = bucket === 'hour' ? new Intl.DateTimeFormat(language, { ...day, ...time }) : days;
    const hours = new Intl.DateTimeFormat('en', { timeZone, hour: 'numeric', hourCycle: 'h23' });
    return {
      span: (start: number) => spans.format(start),
      tick: (start: number, atDay: boolean) => (atDay ? days : times).format(start),
      hourOf: (start: number) => Number(hours.format(start)),
    };
  }, [language, zone, bucket]);
}
