import { useQueries } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { Virtuoso } from 'react-virtuoso';
import { api, got } from '@/api/client';
import type { components } from '@/api/schema';
import { usePolling } from '@/live/LiveProvider';
import { merged } from '@/pages/execution/merging';
import { EmptyState } from '@/parts/EmptyState';
import { textsOf } from '@/parts/log/LogBook';
import { Pieces } from '@/parts/log/LogRow';
import { levelOf, told } from '@/parts/log/lines';
import { LINE_HEIGHT } from '@/parts/log/rows';
import { Scroller } from '@/parts/log/Scroller';
import { useStamp } from '@/parts/log/useReading';
import { TERMINAL } from '@/status/statuses';
import '@/parts/log/log.css';

type Shard = components['schemas']['RelativeShown'];

const MOST = 32;
const TAIL = 300;
const COLOURS = ['blue', 'teal', 'green', 'orange', 'gray'] as const;
const COMPONENTS = { Scroller };

/** What all shards of a broadcast wrote last, as one log. Each shard has its whole log on its own page. */
export function ShardsLog({ shards, startTime }: { shards: readonly Shard[]; startTime: string | null }) {
  const { t } = useTranslation('execution');
  const refetchInterval = usePolling(3_000);
  const read = shards.slice(0, MOST);
  const pages = useQueries({
    queries: read.map((shard) => ({
      queryKey: ['log', 'tail', shard.id, TERMINAL[shard.status]],
      queryFn: () =>
        got(
          api.GET('/api/v1/executions/{execution_id}/log', {
            params: { path: { execution_id: shard.id }, query: { tail: TAIL } },
          }),
        ),
      refetchInterval: TERMINAL[shard.status] ? (false as const) : refetchInterval,
      retry: false,
    })),
  });
  const texts = pages.map(({ data }, index) => ({
    shard: read[index]?.shard_index ?? 0,
    executionId: read[index]?.id ?? 0,
    fromLine: data?.from_line ?? 1,
    lines: data ? textsOf(data) : [],
  }));
  const lines = merged(texts);
  const stamp = useStamp(startTime);
  const context = useMemo(() => ({ label: t('shardsLog.label') }), [t]);
  if (pages.some(({ isPending }) => isPending)) return <Skeleton active title={false} paragraph={{ rows: 6 }} />;
  const missing = pages.filter(({ isError }) => isError).length;
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
                  {t('relatives.shard', { number: shard + 1 })}
                </Link>
                {stamp && <span className="log-stamp">{at === null ? '' : stamp(at)}</span>}
                <span className="log-text">
                  <Pieces text={body} search={null} />
                </span>
              </div>
            );
          }}
        />
      )}
    </div>
  );
}
