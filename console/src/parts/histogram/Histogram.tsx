// Executions over time by how they ended, as stacked bars. Dragging over bars chooses a span; so do the arrow keys with
// Enter. The numbers are in a table for those who cannot see the bars.

import { type KeyboardEvent, type PointerEvent, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Histogram as Shown } from '@/api/types';
import { usePreference } from '@/app/preferences';
import { ENDINGS, type Ending, layBars, ticksAt } from '@/parts/histogram/layout';
import { useDisplayZone } from '@/parts/time/Instant';
import { LOOKS } from '@/status/statuses';
import './histogram.css';

export interface Span {
  since: string;
  until: string;
}

interface Props {
  shown: Shown;
  label: string;
  height?: number;
  /** Only these are counted. */
  endings?: readonly Ending[];
  /** Called with the span that was chosen; without it, bars are only looked at. */
  onChoose?: (span: Span) => void;
}

const MOST_TICKS = 8;
const SIZE = { hour: 3_600_000, day: 86_400_000 };

export function Histogram({ shown, label, height = 120, endings = ENDINGS, onChoose }: Props) {
  const { t } = useTranslation('status');
  const { bars, top } = useMemo(() => layBars(shown.items, endings), [shown.items, endings]);
  const [held, setHeld] = useState<{ from: number; to: number } | null>(null);
  const [at, setAt] = useState<number | null>(null);
  const words = useWords(shown.bucket);
  const count = Math.max(1, bars.length);
  const ticks = useMemo(
    () =>
      ticksAt(
        shown.bucket,
        bars.map((bar) => bar.start),
        MOST_TICKS,
        words.hourOf,
      ),
    [shown.bucket, bars, words.hourOf],
  );

  function choose(one: number, other: number) {
    const [first, last] = [bars[Math.min(one, other)], bars[Math.max(one, other)]];
    if (!first || !last) return;
    onChoose?.({
      since: new Date(first.start).toISOString(),
      until: new Date(last.start + SIZE[shown.bucket]).toISOString(),
    });
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

  const pointed = at === null ? undefined : bars[at];
  const counts = at === null ? undefined : shown.items[at];
  const edge = held ?? (at === null ? null : { from: at, to: at });
  return (
    <figure className="histogram" aria-label={label}>
      <div className="histogram-scale muted" style={{ height }} aria-hidden="true">
        <span>{words.number(top)}</span>
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
          aria-valuetext={pointed ? `${words.span(pointed.start)}: ${pointed.total}` : undefined}
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
            {bars.map((bar, index) =>
              bar.segments.map((one) => (
                <rect
                  key={`${bar.start}${one.ending}`}
                  className={`status-${LOOKS[one.ending].colour} ending-${one.ending}`}
                  x={index * 10 + 1}
                  width="8"
                  y={100 - (one.from + one.size) * 100}
                  height={one.size * 100}
                />
              )),
            )}
          </svg>
        </div>
        <div className="histogram-ticks muted" aria-hidden="true">
          {ticks.map(({ index, day }) => (
            <span key={index} style={{ left: `${((index + (shown.bucket === 'day' ? 0.5 : 0)) / count) * 100}%` }}>
              {words.tick(bars[index]?.start ?? 0, day)}
            </span>
          ))}
        </div>
        <div className="histogram-foot muted">
          <span className="histogram-legend" aria-live="off">
            {pointed && counts ? (
              <>
                <strong>{words.span(pointed.start)}</strong>
                {endings.map((ending) => (
                  <Key
                    key={ending}
                    ending={ending}
                    name={`${t(`name.${ending}`)} ${words.number(counts[ending] ?? 0)}`}
                  />
                ))}
              </>
            ) : (
              endings.map((ending) => <Key key={ending} ending={ending} name={t(`name.${ending}`)} />)
            )}
          </span>
        </div>
      </div>
    </figure>
  );
}

function Key({ ending, name }: { ending: (typeof ENDINGS)[number]; name: string }) {
  return (
    <span className="histogram-key">
      <i className={`status-${LOOKS[ending].colour} ending-${ending}`} />
      {name}
    </span>
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
    const numbers = new Intl.NumberFormat(language);
    return {
      span: (start: number) => spans.format(start),
      tick: (start: number, atDay: boolean) => (atDay ? days : times).format(start),
      hourOf: (start: number) => Number(hours.format(start)),
      number: (value: number) => numbers.format(value),
    };
  }, [language, zone, bucket]);
}
