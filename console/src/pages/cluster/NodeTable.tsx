import {
  CheckCircleOutlined,
  CloseCircleOutlined,
  CrownOutlined,
  ExportOutlined,
  PoweroffOutlined,
} from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { type TableColumnsType, Tag } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import type { ClusterNode, NodeState } from '@/api/types';
import { living, nodeBeats, successors } from '@/pages/cluster/balance';
import { type ClusterSeen, drainNode } from '@/pages/cluster/queries';
import { Badge, type BadgeLook } from '@/parts/Badge';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { PermissionGate } from '@/parts/PermissionGate';
import { SmallTable } from '@/parts/SmallTable';
import { BeatAge } from '@/parts/time/BeatAge';
import { decimal } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';
import { beatOn } from '@/parts/time/staleness';

const LOOKS: Record<NodeState, BadgeLook> = {
  active: { colour: 'green', icon: <CheckCircleOutlined /> },
  draining: { colour: 'orange', icon: <ExportOutlined />, pulsing: true },
  offline: { colour: 'gray', icon: <PoweroffOutlined /> },
  dead: { colour: 'red', icon: <CloseCircleOutlined /> },
};

export function NodeTable({ cluster }: { cluster: ClusterSeen | undefined }) {
  const { t } = useTranslation('cluster');
  const columns = useColumns(cluster);
  return (
    <SmallTable<ClusterNode>
      label={t('nodes.title')}
      rows={cluster?.nodes}
      rowKey="id"
      columns={columns}
      empty={t('nodes.none')}
    />
  );
}

function useColumns(cluster: ClusterSeen | undefined): TableColumnsType<ClusterNode> {
  const { t } = useTranslation('cluster');
  const answeredAt = cluster?.answeredAt ?? 0;
  const rules = cluster && nodeBeats(cluster.rules);
  return useMemo(
    () => [
      { title: t('nodes.node'), key: 'node', render: (_, one) => <NodeName node={one} /> },
      { title: t('nodes.state'), key: 'state', render: (_, one) => <StateBadge state={one.state} /> },
      { title: t('nodes.owned'), dataIndex: 'owned', align: 'right' },
      {
        title: t('nodes.beat'),
        key: 'beat',
        render: (_, one) => (
          <BeatAge
            at={one.beat_age === null ? null : beatOn(answeredAt, one.beat_age)}
            gone={one.state === 'offline' || one.state === 'dead'}
            rules={rules}
            tooLate={t('nodes.tooLate')}
          />
        ),
      },
      { title: t('nodes.joined'), key: 'joined', render: (_, one) => <Instant at={one.joined_at} /> },
      {
        title: t('nodes.load'),
        key: 'load',
        className: 'nowrap',
        render: (_, one) => (one.state === 'active' || one.state === 'draining' ? <Load node={one} /> : '–'),
      },
      { title: t('nodes.version'), dataIndex: 'version' },
      {
        title: <span className="visually-hidden">{t('nodes.actions')}</span>,
        key: 'actions',
        fixed: 'end',
        align: 'right',
        render: (_, one) => cluster && <DrainNode node={one} cluster={cluster} />,
      },
    ],
    [t, cluster, answeredAt, rules],
  );
}

function NodeName({ node }: { node: ClusterNode }) {
  const { t } = useTranslation('cluster');
  return (
    <>
      <span className="cell-main">{node.id}</span> {living([node]).length > 0 && <RoleBadge role={node.role} />}
      {node.asked_to && <Tag>{t(`asked.${node.asked_to}`)}</Tag>}
      <div className="cell-sub mono" title={node.incarnation}>
        {node.url} · {node.hostname}:{node.process_id}
      </div>
    </>
  );
}

/** What it is in the cluster; one that is gone is nothing there. */
function RoleBadge({ role }: { role: ClusterNode['role'] }) {
  const { t } = useTranslation('cluster');
  return role === 'leader' ? (
    <Badge look={{ colour: 'blue', icon: <CrownOutlined />, outlined: true }}>{t('role.leader')}</Badge>
  ) : (
    <span className="muted">{t('role.follower')}</span>
  );
}

function StateBadge({ state }: { state: NodeState }) {
  const { t } = useTranslation('cluster');
  return <Badge look={LOOKS[state]}>{t(`state.${state}`)}</Badge>;
}

function Load({ node }: { node: ClusterNode }) {
  const { t } = useTranslation('cluster');
  const cpu = decimal(node.cpu_millicores / 1_000, 2);
  const memory = decimal(node.memory_bytes / 1_048_576, 0);
  return <span className="muted">{t('nodeLoad', { cpu, memory })}</span>;
}

function DrainNode({ node, cluster }: { node: ClusterNode; cluster: ClusterSeen }) {
  const { t } = useTranslation('cluster');
  const queries = useQueryClient();
  if (node.state !== 'active' || node.asked_to === 'drain') return null;
  const others = successors(cluster.nodes, node.id);
  return (
    <PermissionGate needs="administer">
      <ConfirmAction
        label={t('drain.label')}
        title={t('drain.title', { node: node.id })}
        confirm={t('drain.label')}
        danger
        button={{ size: 'small', type: 'text' }}
        act={async () => {
          await drainNode(node.id);
          await queries.invalidateQueries({ queryKey: ['cluster'] });
          return t('drain.done', { node: node.id });
        }}
      >
        <p>
          {others.length > 0
            ? t('drain.text', { count: node.owned, node: node.id, others: others.join(', ') })
            : t('drain.alone', { count: node.owned, node: node.id })}
        </p>
        {node.role === 'leader' && <p>{others.length > 0 ? t('drain.leads') : t('drain.leadsAlone')}</p>}
        {node.id === cluster.answered_by && <p>{t('drain.here')}</p>}
        <p className="muted">{t('drain.note')}</p>
      </ConfirmAction>
    </PermissionGate>
  );
}
