// Executions over time by how they ended, as stacked bars.

import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Histogram as Shown } from '@/api/types';
import { usePreference } from '@/app/preferences';
import { ENDINGS, type Ending, layBars } from '@/parts/histogram/layout';
import { Plot, type Span } from '@/parts/histogram/Plot';
import { LOOKS } from '@/status/statuses';

interface Props {
  shown: Shown;
  label: string;
  height?: number;
  /** Only these are counted. */
  endings?: readonly Ending[];
  onChoose?: (span: Span) => void;
}

export function Histogram({ shown, label, height = 120, endings = ENDINGS, onChoose }: Props) {
  const { t } = useTranslation('status');
  const [language] = usePreference('language');
  const { bars, top } = useMemo(() => layBars(shown.items, endings), [shown.items, endings]);
  const starts = useMemo(() => bars.map((bar) => bar.start), [bars]);
  const number = (value: number) => new Intl.NumberFormat(language).format(value);
  return (
    <Plot
      label={label}
      height={height}
      bucket={shown.bucket}
      starts={starts}
      top={number(top)}
      told={(index) => number(bars[index]?.total ?? 0)}
      foot={(index) =>
        endings.map((ending) => {
          const count = index === null ? '' : ` ${number(shown.items[index]?.[ending] ?? 0)}`;
          return <Key key={ending} ending={ending} name={`${t(`name.${ending}`)}${count}`} />;
        })
      }
      onChoose={onChoose}
    >
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
    </Plot>
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
