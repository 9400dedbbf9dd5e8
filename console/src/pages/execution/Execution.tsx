import { Skeleton, Tabs } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { isGone } from '@/api/problem';
import type { ExecutionDetail, RelativesShown } from '@/api/types';
import { Actions, Neighbours } from '@/pages/execution/Actions';
import { useFocusedHeading } from '@/pages/execution/arriving';
import { Events, Messages, Parameters } from '@/pages/execution/Details';
import { Facts } from '@/pages/execution/Facts';
import { Missing } from '@/pages/execution/Missing';
import { PhaseBar } from '@/pages/execution/PhaseBar';
import { ProgressLine } from '@/pages/execution/ProgressLine';
import { Relatives } from '@/pages/execution/Relatives';
import { ShardsLog } from '@/pages/execution/ShardsLog';
import { useExecution } from '@/pages/execution/useExecution';
import { useNeighbours } from '@/pages/execution/useNeighbours';
import { fateOf } from '@/parts/log/ending';
import { LogViewer } from '@/parts/log/LogViewer';
import { Page, Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { changed } from '@/parts/useUrlFilters';
import { WhyBox } from '@/parts/why/WhyBox';
import './execution.css';

/** One execution: where it is, why, what it wrote, and what can be done about it. */
export function Execution() {
  const { id = '' } = useParams();
  return /^[1-9]\d{0,15}$/.test(id) ? <Known key={id} id={Number(id)} /> : <Missing />;
}

function Known({ id }: { id: number }) {
  const one = useExecution(id);
  const { previous, next, go, relatives } = useNeighbours(id, '');
  const { t } = useTranslation('execution');
  useFocusedHeading(one.data !== undefined);
  if (one.isPending) return <Skeleton active />;
  if (isGone(one.error)) return <Missing />;
  if (!one.data) return <ProblemNotice error={one.error} retry={() => void one.refetch()} />;
  const shown = one.data;
  return (
    <Page
      title={shown.job_desc ?? t('removedJob')}
      intro={
        <>
          {shown.job_desc !== null && (
            <>
              <Link to={`/jobs/${shown.job_id}`}>{t('theJob')}</Link> ·{' '}
            </>
          )}
          <Link to={`/executions?job_id=${shown.job_id}`}>{t('allOfJob')}</Link> · {t('number', { id })}
          {shown.executor_handler && (
            <>
              {' '}
              · <span className="mono">{shown.executor_handler}</span>
            </>
          )}
          {shown.test && ` · ${t('test')}`}
        </>
      }
      actions={
        <>
          <Neighbours previous={previous} next={next} go={go} />
          <Actions execution={shown} />
        </>
      }
    >
      <Facts execution={shown} />
      <div className="execution-columns">
        <div className="execution-left">
          <Panel title={t('phases.title')}>
            <PhaseBar execution={shown} />
          </Panel>
          {shown.progress && <ProgressLine progress={shown.progress} />}
          {shown.status !== 'success' && <WhyBox executionId={id} />}
          {relatives && (relatives.attempts.length > 1 || relatives.attempts.some(({ hands }) => hands.length > 0)) && (
            <Relatives
              title={t('relatives.attempts')}
              items={relatives.attempts}
              current={id}
              nameOf={(_, index) => t('relatives.attempt', { number: index + 1 })}
            />
          )}
          {relatives && relatives.shards.length > 1 && (
            <Relatives
              title={t('relatives.shards')}
              items={relatives.shards}
              current={id}
              nameOf={(shard) => t('relatives.shard', { number: shard.shard_index })}
            />
          )}
        </div>
        <Right execution={shown} shards={relatives?.shards ?? []} />
      </div>
    </Page>
  );
}

const TABS = ['log', 'shards', 'params', 'messages', 'events'] as const;

/** The log first: it is what people come for. The tab is in the address. */
function Right({ execution: one, shards }: { execution: ExecutionDetail; shards: RelativesShown['shards'] }) {
  const { t } = useTranslation('execution');
  const [params, setParams] = useSearchParams();
  const tabs = TABS.filter((name) => name !== 'shards' || shards.length > 1);
  const tab = tabs.find((name) => name === params.get('tab')) ?? 'log';
  const contents = {
    log: <LogViewer executionId={one.id} startTime={one.start_time} fate={fateOf(one)} />,
    shards: <ShardsLog shards={shards} startTime={one.start_time} />,
    params: <Parameters execution={one} />,
    messages: <Messages execution={one} />,
    events: <Events executionId={one.id} />,
  };
  return (
    <section className="panel execution-right" aria-label={t('tabs.label')}>
      <Tabs
        activeKey={tab}
        onChange={(chosen) =>
          setParams((before) => changed(before, { tab: chosen === 'log' ? undefined : chosen }), { replace: true })
        }
        items={tabs.map((key) => ({ key, label: t(`tabs.${key}`), children: contents[key] }))}
        destroyOnHidden
      />
    </section>
  );
}
