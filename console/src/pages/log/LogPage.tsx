import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useParams } from 'react-router';
import { isGone } from '@/api/problem';
import { Actions, Neighbours } from '@/pages/execution/Actions';
import { useFocusedHeading } from '@/pages/execution/arriving';
import { Missing } from '@/pages/execution/Missing';
import { useExecution } from '@/pages/execution/useExecution';
import { useNeighbours } from '@/pages/execution/useNeighbours';
import { fateOf } from '@/parts/log/ending';
import { LogViewer } from '@/parts/log/LogViewer';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { StatusTag } from '@/status/StatusTag';
import '@/pages/execution/execution.css';

/** A log on all the room there is, and what can be done about its execution. */
export function LogPage() {
  const { id = '' } = useParams();
  return /^[1-9]\d{0,15}$/.test(id) ? <Known key={id} id={Number(id)} /> : <Missing />;
}

function Known({ id }: { id: number }) {
  const { t } = useTranslation('execution');
  const one = useExecution(id);
  const { previous, next, go } = useNeighbours(id, '/log');
  useFocusedHeading(one.data !== undefined);
  if (one.isPending) return <Skeleton active />;
  if (isGone(one.error)) return <Missing />;
  if (!one.data) return <ProblemNotice error={one.error} retry={() => void one.refetch()} />;
  const shown = one.data;
  const job = shown.job_desc ?? t('removedJob');
  return (
    <div className="log-page">
      <Page
        title={t('logOf', { job })}
        intro={<Link to={`/executions/${id}`}>{t('number', { id })}</Link>}
        actions={
          <>
            <StatusTag execution={shown} />
            <Neighbours previous={previous} next={next} go={go} />
            <Actions execution={shown} stay="/log" />
          </>
        }
      >
        <LogViewer executionId={id} startTime={shown.start_time} fate={fateOf(shown)} fullScreen />
      </Page>
    </div>
  );
}
