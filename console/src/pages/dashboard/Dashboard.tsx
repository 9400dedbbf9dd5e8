import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { Cards } from '@/pages/dashboard/Cards';
import { ClusterStrip } from '@/pages/dashboard/ClusterStrip';
import { Endings } from '@/pages/dashboard/Endings';
import { FailingJobs, SlowestJobs, UpcomingFires } from '@/pages/dashboard/lists';
import { overviewQuery, statsQuery } from '@/pages/dashboard/queries';
import { EmptyState } from '@/parts/EmptyState';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './dashboard.css';

/** Everything at a glance: what there is, how it goes, what comes next and what needs somebody. */
export function Dashboard() {
  const { t } = useTranslation('dashboard');
  const stats = useQuery(statsQuery);
  const overview = useQuery(overviewQuery);
  const failed = [stats, overview].find((one) => one.isError && !one.data);
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
      <Endings late={overview.data?.late} />
      <div className="dashboard-lists">
        <UpcomingFires items={overview.data?.upcoming} />
        <FailingJobs items={overview.data?.failing} />
        <SlowestJobs items={overview.data?.slowest} />
      </div>
    </Page>
  );
}
