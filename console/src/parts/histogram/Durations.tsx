// How long executions took over time: the mean as a bar, the longest behind it.

import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { HistogramPart } from '@/api/types';
import { layDurations } from '@/parts/histogram/layout';
import { Plot, type Span } from '@/parts/histogram/Plot';
import { duration } from '@/parts/time/format';

interface Props {
  days: readonly HistogramPart[];
  label: string;
  height?: number;
  onChoose?: (span: Span) => void;
}

export function Durations({ days, label, height = 90, onChoose }: Props) {
  const { t } = useTranslation('jobs');
  const { bars, top } = useMemo(() => layDurations(days), [days]);
  const starts = useMemo(() => bars.map((bar) => bar.start), [bars]);
  const kinds = [
    { kind: 'mean', name: t('stats.mean'), of: (index: number) => days[index]?.mean_ms },
    { kind: 'longest', name: t('stats.longest'), of: (index: number) => days[index]?.longest_ms },
  ];
  const words = (name: string, ms: number | null | undefined) => `${name} ${ms == null ? '–' : duration(ms)}`;
  return (
    <Plot
      label={label}
      height={height}
      bucket="day"
      starts={starts}
      top={duration(top)}
      told={(index) => kinds.map(({ name, of }) => words(name, of(index))).join(', ')}
      foot={(index) =>
        kinds.map(({ kind, name, of }) => (
          <span key={kind} className="histogram-key">
            <i className={`time-${kind}`} />
            {index === null ? name : words(name, of(index))}
          </span>
        ))
      }
      onChoose={onChoose}
    >
      {bars.map((bar, index) => (
        <g key={bar.start}>
          <rect
            className="time-longest"
            x={index * 10 + 1}
            width="8"
            y={100 - bar.longest * 100}
            height={bar.longest * 100}
          />
          <rect className="time-mean" x={index * 10 + 1} width="8" y={100 - bar.mean * 100} height={bar.mean * 100} />
        </g>
      ))}
    </Plot>
  );
}
