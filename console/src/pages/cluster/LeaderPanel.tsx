import { CrownOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import type { Term } from '@/api/types';
import { useShownNow } from '@/live/LiveProvider';
import { leaseUsed, successors } from '@/pages/cluster/balance';
import { type ClusterSeen, stepDown } from '@/pages/cluster/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { Panel } from '@/parts/Page';
import { PermissionGate } from '@/parts/PermissionGate';
import { Duration } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';

/** Who leads, for how long without another word, and the way to let another one lead. */
export function LeaderPanel({ cluster }: { cluster: ClusterSeen | undefined }) {
  const { t } = useTranslation('cluster');
  return (
    <Panel title={t('leader.title')} extra={cluster && <StepDown cluster={cluster} />}>
      {cluster && (
        <>
          <p className={`leader-name${cluster.leader ? '' : ' leader-none'}`} aria-live="polite">
            <CrownOutlined aria-hidden="true" /> {cluster.leader ?? t('leader.nobody')}
          </p>
          {cluster.lease_state === 'expired' && <p>{t('leader.expired', { node: cluster.lease_holder ?? '' })}</p>}
          {cluster.lease_state === 'late' && <p>{t('leader.late')}</p>}
          <p className="muted">{t('leader.term', { term: cluster.term })}</p>
          <LeaseBar cluster={cluster} />
        </>
      )}
    </Panel>
  );
}

function LeaseBar({ cluster }: { cluster: ClusterSeen }) {
  const { t } = useTranslation('cluster');
  const now = useShownNow();
  const { lease, lease_renew } = cluster.rules;
  const used = leaseUsed(cluster.lease_age, lease, Math.max(0, now - cluster.answeredAt));
  if (used === null) return <p className="muted">{t('lease.unknown')}</p>;
  const left = Math.max(0, Math.round(lease * (1 - used)));
  const late = cluster.lease_state === 'late' || cluster.lease_state === 'expired';
  return (
    <div className="lease">
      <meter className="visually-hidden" aria-label={t('lease.label')} min={0} max={Math.round(lease)} value={left} />
      <div className={`lease-bar${late ? ' lease-late' : ''}`} aria-hidden="true">
        <span style={{ width: `${(1 - used) * 100}%` }} />
        <i style={{ left: `${(1 - Math.min(1, lease_renew / lease)) * 100}%` }} />
      </div>
      <p className="muted">{t('lease.text', { left, lease, renew: lease_renew })}</p>
    </div>
  );
}

function StepDown({ cluster }: { cluster: ClusterSeen }) {
  const { t, i18n } = useTranslation('cluster');
  const queries = useQueryClient();
  const { leader, nodes } = cluster;
  if (!leader) return null;
  const others = successors(nodes, leader);
  const oneOf = new Intl.ListFormat(i18n.language, { type: 'disjunction' });
  return (
    <PermissionGate needs="administer">
      <ConfirmAction
        label={t('stepDown.label')}
        title={t('stepDown.title', { node: leader })}
        confirm={t('stepDown.label')}
        button={{ size: 'small', disabled: others.length === 0 }}
        act={async () => {
          const node = await stepDown();
          await queries.invalidateQueries({ queryKey: ['cluster'] });
          return t('stepDown.done', { node });
        }}
      >
        <p>{t('stepDown.text', { node: leader, others: oneOf.format(others) })}</p>
        <p className="muted">{t('stepDown.note', { lease: cluster.rules.lease })}</p>
      </ConfirmAction>
    </PermissionGate>
  );
}

/** Who led before, the newest first. */
export function PastTerms({ terms, leader }: { terms: Term[] | undefined; leader: string | null }) {
  const { t } = useTranslation('cluster');
  if (terms?.length === 0) return <p className="panel-body muted">{t('terms.none')}</p>;
  return (
    <ol className="past-terms">
      {terms?.map((one, index) => {
        const current = index === 0 && leader !== null;
        return (
          <li key={one.term}>
            <span className="mono muted">{one.term}</span>
            <span className={`past-term-node${current ? ' cell-main' : ''}`} title={one.node}>
              {one.node}
            </span>
            <span className="muted nowrap">
              <Instant at={one.began_at} />
            </span>
            <span className="past-term-length nowrap">
              <Duration from={one.began_at} to={one.ended_at ?? terms[index - 1]?.began_at ?? null} />
            </span>
          </li>
        );
      })}
    </ol>
  );
}
