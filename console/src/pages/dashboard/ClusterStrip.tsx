import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useMay } from '@/api/session';
import { clusterQuery } from '@/pages/dashboard/queries';

/** Who leads and who is there, in one line; only for those who look after the cluster. */
export function ClusterStrip() {
  const { t } = useTranslation('dashboard');
  const may = useMay();
  const allowed = may('administer');
  const cluster = useQuery({ ...clusterQuery, enabled: allowed }).data;
  if (!cluster) return null;
  const active = cluster.nodes.filter((node) => node.state === 'active').length;
  return (
    <section className="panel cluster-strip" aria-label={t('cluster.title')}>
      <Fact name={t('cluster.leader')} value={cluster.leader ?? t('cluster.nobody')} bad={cluster.leader === null} />
      <Fact name={t('cluster.term')} value={String(cluster.term)} />
      <Fact name={t('cluster.nodes')} value={`${active}/${cluster.nodes.length}`} />
      <Fact name={t('cluster.orphans')} value={String(cluster.orphans)} bad={cluster.orphans > 0} />
    </section>
  );
}

function Fact({ name, value, bad }: { name: string; value: string; bad?: boolean }) {
  return (
    <span>
      <span className="muted">{name}</span> <strong className={bad ? 'bad' : undefined}>{value}</strong>
    </span>
  );
}
