// Only the lines of some levels, as the server finds them in the whole log.

import { Skeleton } from 'antd';
import { useCallback, useEffect, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Virtuoso } from 'react-virtuoso';
import { EmptyState } from '@/parts/EmptyState';
import type { LinesShown } from '@/parts/log/LogLines';
import { LogRow } from '@/parts/log/LogRow';
import type { Match } from '@/parts/log/LogSearch';
import { type Level, levelExpression, levelOf } from '@/parts/log/lines';
import { LINE_HEIGHT } from '@/parts/log/rows';
import { Scroller } from '@/parts/log/Scroller';
import { useLogSearch } from '@/parts/log/useLog';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Props extends LinesShown {
  levels: readonly Level[];
}

const AT_ONCE = 1_000;
const LOOK_EVERY = 1_000;
const COMPONENTS = { Scroller };

export function LevelLines({ log, label, levels, wrap, stamp, search: marks, hrefOf, onNumber, onWhole }: Props) {
  const { t } = useTranslation('log');
  const keep = useCallback((match: Match) => levels.includes(levelOf(match.text)), [levels]);
  const search = useLogSearch(log, AT_ONCE, keep);
  useEffect(() => {
    search.start({ text: levelExpression(levels), regex: true, ignoreCase: false });
  }, [search, levels]);
  const { matches, busy, end, error, toLine } = search.state;
  const behind = !busy && !end && log.book.last > toLine && log.stream.state.kind !== 'over';
  useEffect(() => {
    if (!behind) return;
    const timer = setTimeout(() => search.more(), LOOK_EVERY);
    return () => clearTimeout(timer);
  }, [behind, search]);
  const context = useMemo(() => ({ label }), [label]);
  if (error) return <ProblemNotice error={error} retry={() => search.more()} />;
  if (matches.length === 0) {
    return (
      <div className="log-lines log-none">
        {busy ? <Skeleton active title={false} paragraph={{ rows: 3 }} /> : <EmptyState title={t('levels.none')} />}
      </div>
    );
  }
  return (
    <Virtuoso
      className={wrap ? 'log-lines log-wrapped' : 'log-lines'}
      data={matches}
      {...(!wrap && { fixedItemHeight: LINE_HEIGHT })}
      context={context}
      components={COMPONENTS}
      endReached={() => !end && search.more()}
      computeItemKey={(_, match) => match.line}
      itemContent={(_, match) => (
        <LogRow
          number={match.line}
          href={hrefOf(match.line)}
          line={{ text: match.text, length: match.text.length }}
          stamp={stamp}
          search={marks}
          marked={false}
          onNumber={onNumber}
          onWhole={onWhole}
        />
      )}
    />
  );
}
