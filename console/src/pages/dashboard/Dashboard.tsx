import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { usePolling } from '@/live/LiveProvider';
import { Cards } from '@/pages/dashboard/Cards';
import { ClusterStrip } from '@/pages/dashboard/ClusterStrip';
import { FailingJobs, SlowestJobs, UpcomingFires } from '@/pages/dashboard/lists';
import { hoursQuery, overviewQuery, statsQuery } from '@/pages/dashboard/queries';
import { EmptyState } from '@/parts/EmptyState';
import { Histogram } from '@/parts/histogram/Histogram';
import { Page, Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './dashboard.css';

/** Everything at a glance: what there is, how it goes, what comes next and what needs somebody. */
export function Dashboard() {
  const { t } = useTranslation('dashboard');
  const navigate = useNavigate();
  const refetchInterval = usePolling(10_000);
  const stats = useQuery({ ...statsQuery, refetchInterval });
  const overview = useQuery({ ...overviewQuery, refetchInterval });
  const hours = useQuery(hoursQuery);
  const failed = [stats, overview, hours].find((one) => one.isError && !one.data);
  const seen = overview.data;
  const nothing = seen && seen.jobs.started + seen.jobs.stopped + seen.executors.total === 0;
  return (
    <Page title={t('title')} intro={t('intro')}>
      {failed && <ProblemNotice error={failed.error} retry={() => void failed.refetch()} />}
      {nothing && (
        <section className="panel first-steps">
          <EmptyState title={t('first.title')} snippet="orth executor jobs.py">
            {t('first.hint')}
          </EmptyState>
        </section>
      )}
      <Cards stats={stats.data} overview={overview.data} />
      <ClusterStrip />
      <Panel title={t('chart.title')} extra={<Link to="/executions?since=24h">{t('chart.open')}</Link>}>
        {hours.data && (
          <Histogram
            shown={hours.data}
            label={t('chart.title')}
            height={140}
            onChoose={(span) => void navigate(`/executions?${new URLSearchParams({ ...span })}`)}
          />
        )}
      </Panel>
      <div className="dashboard-lists">
        <UpcomingFires items={overview.data?.upcoming} />
        <FailingJobs items={overview.data?.failing} />
        <SlowestJobs items={overview.data?.slowest} />
      </div>
    </Page>
  );
}
