import { useQuery } from '@tanstack/react-query';
import { Progress } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Execution } from '@/api/types';
import { usePolling } from '@/live/LiveProvider';
import { progressQuery } from '@/pages/executions/queries';
import { visibleLines } from '@/parts/log/ansi';
import { shareOf } from '@/parts/share';

/** How often a row asks: no event tells of progress. */
const LOOK_EVERY = 5_000;

/** How far an execution says it is that an executor has; nothing for one that says nothing. */
export function RowProgress({ execution }: { execution: Execution }) {
  const { t } = useTranslation('executions');
  const refetchInterval = usePolling(LOOK_EVERY);
  const progress = useQuery({ ...progressQuery(execution.id), refetchInterval }).data;
  if (!progress) return null;
  const share = shareOf(progress.done, progress.total);
  if (share === null) return <div className="phase-text">{visibleLines(progress.message)}</div>;
  return (
    <div className="row-progress" title={visibleLines(progress.message)}>
      <Progress percent={share} size="small" status="normal" aria-label={t('progress', { id: execution.id })} />
    </div>
  );
}
