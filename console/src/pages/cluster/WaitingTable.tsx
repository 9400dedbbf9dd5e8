import { ExportOutlined, QuestionCircleOutlined } from '@ant-design/icons';
import type { TableColumnsType } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { WaitingExecution } from '@/api/types';
import { successors } from '@/pages/cluster/balance';
import type { ClusterSeen } from '@/pages/cluster/queries';
import { Badge, type BadgeLook } from '@/parts/Badge';
import { SmallTable } from '@/parts/SmallTable';
import { Ago } from '@/parts/time/Ago';

const LOOKS: Record<WaitingExecution['state'], BadgeLook> = {
  offered: { colour: 'blue', icon: <ExportOutlined /> },
  orphan_pending: { colour: 'orange', icon: <QuestionCircleOutlined /> },
};

interface Props {
  items: WaitingExecution[] | undefined;
  cluster: ClusterSeen | undefined;
}

/** Executions that nobody looks after, or that are being handed over, and what happens to them next. */
export function WaitingTable({ items, cluster }: Props) {
  const { t } = useTranslation('cluster');
  const every = cluster?.rules.orphan_check ?? 30;
  const nobody = cluster !== undefined && successors(cluster.nodes, '').length === 0;
  const columns: TableColumnsType<WaitingExecution> = useMemo(
    () => [
      {
        title: t('handoffs.execution'),
        key: 'execution',
        render: (_, one) => <Link to={`/executions/${one.execution_id}`}>#{one.execution_id}</Link>,
      },
      {
        title: t('waiting.state'),
        key: 'state',
        render: (_, one) => <Badge look={LOOKS[one.state]}>{t(`holding.${one.state}`)}</Badge>,
      },
      {
        title: t('waiting.from'),
        key: 'from',
        render: (_, one) => one.from_node ?? <span className="muted">{t('waiting.nobody')}</span>,
      },
      { title: t('waiting.since'), key: 'since', className: 'nowrap', render: (_, one) => <Ago at={one.since} /> },
      {
        title: t('waiting.next'),
        key: 'next',
        render: (_, one) => (nobody ? t('next.nobody') : t(`next.${one.state}`, { every })),
      },
    ],
    [t, every, nobody],
  );
  if (items?.length === 0) {
    return (
      <p className="waiting-none">
        {t('waiting.none')} <span className="muted">{t('waiting.hint')}</span>
      </p>
    );
  }
  return (
    <SmallTable<WaitingExecution>
      label={t('waiting.title')}
      rows={items}
      rowKey="execution_id"
      columns={columns}
      empty={t('waiting.none')}
    />
  );
}
