import { useTranslation } from 'react-i18next';
import { balanceOf } from '@/pages/cluster/balance';
import type { ClusterSeen } from '@/pages/cluster/queries';
import { decimal } from '@/parts/time/format';

/** How many executions each coordinator looks after, beside the one that has most; the mark is where evening out
 * begins. */
export function OwnershipBars({ cluster }: { cluster: ClusterSeen }) {
  const { t } = useTranslation('cluster');
  const { rebalance_factor: factor, rebalance_difference: difference } = cluster.rules;
  const { shares, threshold, ratio } = balanceOf(cluster.nodes, cluster.rules);
  const over = shares.find((one) => one.over);
  return (
    <>
      <ul className="balance">
        {shares.map((one) => (
          <li key={one.node}>
            <span className="balance-name">{one.node}</span>
            <span className="balance-bar" aria-hidden="true">
              <span className={one.over ? 'balance-over' : undefined} style={{ width: `${one.part * 100}%` }} />
              {threshold !== null && <i style={{ left: `${threshold * 100}%` }} />}
            </span>
            <span className="balance-count">{one.owned}</span>
          </li>
        ))}
      </ul>
      <p className={over ? 'balance-warning' : 'muted'}>
        {over
          ? t('balance.over', { node: over.node })
          : ratio === null
            ? t('balance.owned', { count: cluster.owned })
            : t('balance.ratio', { ratio: decimal(ratio, 1) })}{' '}
        {factor === null ? t('balance.off') : t('balance.rule', { factor, difference })}
      </p>
    </>
  );
}
