import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { usePolling } from '@/live/LiveProvider';
import { agesEvery, unsettled } from '@/pages/cluster/balance';
import { HandoffTable } from '@/pages/cluster/HandoffTable';
import { LeaderPanel, PastTerms } from '@/pages/cluster/LeaderPanel';
import { NodeTable } from '@/pages/cluster/NodeTable';
import { OwnershipBars } from '@/pages/cluster/OwnershipBars';
import { clusterQuery, handoffsQuery, termsQuery, waitingQuery } from '@/pages/cluster/queries';
import { WaitingTable } from '@/pages/cluster/WaitingTable';
import { Page, Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './cluster.css';

/** Who leads, who is there, who looks after what, and how that changed. */
export function Cluster() {
  const { t } = useTranslation('cluster');
  const ages = usePolling(1_000); // of beats and of the lease, and what no event tells of
  const cluster = useQuery({
    ...clusterQuery,
    refetchInterval: ({ state }) => ages && agesEvery(state.data?.rules.lease_renew),
  });
  const terms = useQuery(termsQuery);
  const handoffs = useInfiniteQuery(handoffsQuery);
  const waiting = useQuery({
    ...waitingQuery,
    refetchInterval: ({ state }) => {
      const { nodes = [], orphans = 0 } = cluster.data ?? {};
      return unsettled(nodes, orphans, state.data?.items.length ?? 0) && ages;
    },
  });
  const failed = [cluster, terms, waiting].find((one) => one.isError && !one.data);
  if (failed) {
    return (
      <Page title={t('title')}>
        <ProblemNotice error={failed.error} retry={() => void failed.refetch()} />
      </Page>
    );
  }
  return (
    <Page title={t('title')} intro={cluster.data && t('intro', { node: cluster.data.answered_by })}>
      <div className="page-stack">
        <div className="cluster-head">
          <LeaderPanel cluster={cluster.data} />
          <Panel title={t('terms.title')} flush>
            <PastTerms terms={terms.data?.items} leader={cluster.data?.leader ?? null} />
          </Panel>
          <Panel title={t('balance.title')}>{cluster.data && <OwnershipBars cluster={cluster.data} />}</Panel>
        </div>
        <Panel title={t('nodes.title')} flush>
          <NodeTable cluster={cluster.data} />
        </Panel>
        <Panel title={t('waiting.title')} flush>
          <WaitingTable items={waiting.data?.items} cluster={cluster.data} />
        </Panel>
        <div>
          <h2 className="section-title">{t('handoffs.title')}</h2>
          <HandoffTable list={handoffs} />
        </div>
      </div>
    </Page>
  );
}
