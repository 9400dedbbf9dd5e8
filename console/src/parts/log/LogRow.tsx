import { CaretDownOutlined, CaretRightOutlined } from '@ant-design/icons';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import type { Style } from '@/parts/log/ansi';
import type { Fold } from '@/parts/log/folds';
import type { LogLine } from '@/parts/log/LogBook';
import type { Place } from '@/parts/log/LogSearch';
import { type Level, levelOf, told } from '@/parts/log/lines';
import { type Range, rangeIn, type Segment, segmentsOf } from '@/parts/log/segments';

export interface RowProps {
  number: number;
  href: string;
  line: LogLine | undefined;
  /** What is known of it beyond its words. */
  level?: Level;
  /** The time as it is to be shown; undefined: not at all. */
  stamp: ((at: number) => string) | undefined;
  search: RegExp | null;
  /** Where the server found what is looked for. */
  place?: Place | undefined;
  marked: boolean;
  fold?: Fold;
  folded?: boolean;
  onFold?: (head: number) => void;
  onNumber: (number: number) => void;
  onWhole: (number: number) => void;
}

/** One line. Its text is only ever text: what it says cannot become part of the page. */
export const LogRow = memo(function LogRow(props: RowProps) {
  const { t } = useTranslation('log');
  const { number, line, fold, folded, onFold } = props;
  const { at, body } = told(line?.text ?? '');
  const kind = line ? ` log-${props.level ?? levelOf(line.text)}` : '';
  return (
    <div className={`log-row${kind}${props.marked ? ' log-marked' : ''}`}>
      <a
        className="log-number"
        href={props.href}
        tabIndex={-1}
        aria-label={t('line', { number })}
        onClick={(event) => {
          if (event.metaKey || event.ctrlKey || event.shiftKey) return;
          event.preventDefault();
          props.onNumber(number);
        }}
      >
        {number}
      </a>
      {props.stamp && <span className="log-stamp">{at === null ? '' : props.stamp(at)}</span>}
      <span className="log-text">
        {fold && onFold && (
          <button
            type="button"
            className="log-fold"
            aria-expanded={!folded}
            aria-label={t('fold', { count: fold.last - fold.first + 1 })}
            onClick={() => onFold(fold.head)}
          >
            {folded ? <CaretRightOutlined /> : <CaretDownOutlined />}
            {folded && t('folded', { count: fold.last - fold.first + 1 })}
          </button>
        )}
        {line ? (
          <Pieces text={body} found={props.place ? rangeIn(line.text, body, props.place) : props.search} />
        ) : (
          <span className="log-unread">…</span>
        )}
        {line && line.length > line.text.length && (
          <button type="button" className="log-more" onClick={() => props.onWhole(number)}>
            {t('more', { count: line.length - line.text.length })}
          </button>
        )}
      </span>
    </div>
  );
});

export function Pieces({ text, found = null }: { text: string; found?: RegExp | Range | null }) {
  return segmentsOf(text, found).map((segment, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the pieces of a line have no other name, and change together
    <Piece key={index} segment={segment} />
  ));
}

function Piece({ segment }: { segment: Segment }) {
  const { text, style, href, found } = segment;
  const inner = found ? <mark>{text}</mark> : text;
  const named = classOf(style);
  if (href) {
    return (
      <a
        className={named}
        href={href}
        title={text === href ? undefined : href}
        target="_blank"
        rel="noopener noreferrer nofollow"
      >
        {inner}
      </a>
    );
  }
  return named ? <span className={named}>{inner}</span> : inner;
}

function classOf({ fg, bg, inverse, ...marks }: Style): string | undefined {
  const front = inverse ? bg : fg;
  const ground = inverse ? (fg ?? 'white') : bg;
  const names = Object.entries(marks).flatMap(([name, on]) => (on ? [`ansi-${name}`] : []));
  if (front) names.push(`ansi-${front}`);
  if (ground) names.push(`ansi-on-${ground}`);
  return names.length > 0 ? names.join(' ') : undefined;
}
