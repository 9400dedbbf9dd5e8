import { Skeleton } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { Virtuoso } from 'react-virtuoso';
import type { components } from '@/api/schema';
import { merged } from '@/pages/execution/merging';
import { EmptyState } from '@/parts/EmptyState';
import { Pieces } from '@/parts/log/LogRow';
import { levelOf, told } from '@/parts/log/lines';
import { LINE_HEIGHT } from '@/parts/log/rows';
import { Scroller } from '@/parts/log/Scroller';
import { useLogs } from '@/parts/log/useLog';
import { useStamp } from '@/parts/log/useReading';
import '@/parts/log/log.css';

type Shard = components['schemas']['RelativeShown'];

const MOST = 32;
const TAIL = 300;
const COLOURS = ['blue', 'teal', 'green', 'orange', 'gray'] as const;
const COMPONENTS = { Scroller };

/** What all shards of a broadcast wrote last, as one log. Each shard has its whole log on its own page. */
export function ShardsLog({ shards, startTime }: { shards: readonly Shard[]; startTime: string | null }) {
  const { t } = useTranslation('execution');
  const read = shards.slice(0, MOST);
  const logs = useLogs(read.map(({ id }) => id));
  const texts = logs.map((log, index) => {
    const { from, texts: last } = log.book.tail(TAIL);
    return { shard: read[index]?.shard_index ?? 0, executionId: log.id, fromLine: from, lines: last };
  });
  const lines = merged(texts);
  const stamp = useStamp(startTime);
  const context = useMemo(() => ({ label: t('shardsLog.label') }), [t]);
  const missing = logs.filter(({ state }) => !state.opened && state.error !== null).length;
  if (logs.filter(({ state }) => state.opened).length + missing < logs.length)
    return <Skeleton active title={false} paragraph={{ rows: 6 }} />;
  return (
    <div className="log-viewer shards-log">
      <p className="shards-note muted">
        {t('shardsLog.note', { count: TAIL })}
        {shards.length > MOST && ` ${t('shardsLog.first', { count: MOST })}`}
        {missing > 0 && ` ${t('shardsLog.missing', { count: missing })}`}
      </p>
      {lines.length === 0 ? (
        <EmptyState title={t('shardsLog.empty')} />
      ) : (
        <Virtuoso
          className="log-lines"
          data={lines}
          fixedItemHeight={LINE_HEIGHT}
          context={context}
          components={COMPONENTS}
          initialTopMostItemIndex={lines.length - 1}
          followOutput="auto"
          itemContent={(_, { shard, executionId, line, text }) => {
            const { at, body } = told(text);
            return (
              <div className={`log-row log-${levelOf(text)}`}>
                <Link
                  className={`shard-tag status-${COLOURS[shard % COLOURS.length]}`}
                  to={`/executions/${executionId}#L${line}`}
                  tabIndex={-1}
                >
                  {t('relatives.shard', { number: shard })}
                </Link>
                {stamp && <span className="log-stamp">{at === null ? '' : stamp(at)}</span>}
                <span className="log-text">
                  <Pieces text={body} />
                </span>
              </div>
            );
          }}
        />
      )}
    </div>
  );
}
