// Only the lines of some levels, as the server finds them in the whole log.

import { Skeleton } from 'antd';
import { type Ref, useEffect, useImperativeHandle, useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Virtuoso, type VirtuosoHandle } from 'react-virtuoso';
import { EmptyState } from '@/parts/EmptyState';
import type { LinesHandle, LinesShown } from '@/parts/log/LogLines';
import { LogRow } from '@/parts/log/LogRow';
import type { SearchState } from '@/parts/log/LogSearch';
import { type Level, levelOf } from '@/parts/log/lines';
import { LINE_HEIGHT } from '@/parts/log/rows';
import { Scroller } from '@/parts/log/Scroller';
import { useScrollWatch } from '@/parts/log/useLines';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Props extends LinesShown {
  ref: Ref<LinesHandle>;
  levels: readonly Level[];
  /** The lines of the levels; of these, those that have what is looked for. */
  found: SearchState;
  more: () => void;
  marked: number | null;
  /** Whether the end of what is found is kept in view. */
  following: boolean;
  /** The reader scrolled away from the end, or back to it. */
  onFollow: (following: boolean) => void;
}

const COMPONENTS = { Scroller };

export function LevelLines({ ref, levels, found, more, marked, following, onFollow, ...shown }: Props) {
  const { label, wrap, stamp, search, places, hrefOf, onNumber, onWhole } = shown;
  const { t } = useTranslation('log');
  const list = useRef<VirtuosoHandle>(null);
  const { query, matches, busy, end, error } = found;
  const goTo = (line: number) => {
    const index = matches.findIndex((match) => match.line === line);
    if (index >= 0) list.current?.scrollIntoView({ index });
  };
  useImperativeHandle(ref, () => ({ goTo }));
  const context = useMemo(() => ({ label }), [label]);
  const watch = useScrollWatch(following, onFollow);
  const shownAny = matches.length > 0;
  useEffect(() => {
    if (following && shownAny) list.current?.scrollToIndex({ index: 'LAST', align: 'end' });
  }, [following, shownAny]);
  if (error) return <ProblemNotice error={error} retry={more} />;
  if (!shownAny) {
    return (
      <div className="log-lines log-none">
        {busy ? (
          <Skeleton active title={false} paragraph={{ rows: 3 }} />
        ) : (
          <EmptyState title={t(query ? 'levels.noMatch' : 'levels.none')} />
        )}
      </div>
    );
  }
  return (
    <Virtuoso
      ref={list}
      className={wrap ? 'log-lines log-wrapped' : 'log-lines'}
      scrollerRef={watch.scroller}
      data={matches}
      {...(!wrap && { fixedItemHeight: LINE_HEIGHT })}
      context={context}
      components={COMPONENTS}
      initialTopMostItemIndex={following ? { index: 'LAST', align: 'end' } : 0}
      followOutput={watch.output}
      atBottomStateChange={(atEnd) => atEnd && found.caughtUp && watch.atEnd()}
      endReached={() => !end && more()}
      computeItemKey={(_, match) => match.line}
      itemContent={(_, match) => (
        <LogRow
          number={match.line}
          href={hrefOf(match.line)}
          line={{ text: match.text, length: match.text.length }}
          level={levelAmong(levels, match.text)}
          stamp={stamp}
          search={search}
          place={match.offset === 0 ? places.get(match.line) : undefined}
          marked={match.line === marked}
          onNumber={onNumber}
          onWhole={onWhole}
        />
      )}
    />
  );
}

/** A line whose words name none of the levels is here as part of a traceback, which is an error. */
function levelAmong(levels: readonly Level[], text: string): Level {
  const named = levelOf(text);
  return levels.includes(named) ? named : 'error';
}
