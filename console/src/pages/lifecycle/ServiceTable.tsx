import type { TableColumnsType } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useShownNow } from '@/live/LiveProvider';
import { BEATS, type Kind, type Service } from '@/pages/lifecycle/registry';
import { SERVICE_LOOKS } from '@/pages/lifecycle/statuses';
import { Badge } from '@/parts/Badge';
import { CopyButton } from '@/parts/CopyButton';
import { EmptyState } from '@/parts/EmptyState';
import { SmallTable } from '@/parts/SmallTable';
import { BeatAge } from '@/parts/time/BeatAge';
import { Instant } from '@/parts/time/Instant';
import { degraded, gradeOf } from '@/parts/time/staleness';

interface Props {
  kind: Kind;
  label: string;
  rows: Service[] | undefined;
  /** What orchestrators are called, by id. */
  names: Record<string, string>;
}

export function ServiceTable({ kind, label, rows, names }: Props) {
  const { t } = useTranslation('lifecycle');
  const columns = useColumns(kind, names);
  return (
    <SmallTable<Service>
      label={label}
      rows={rows}
      rowKey="id"
      columns={columns}
      rowClassName={(one) => flashOf(one.told)}
      empty={<EmptyState title={t(`none.${kind}`)} {...(kind === 'agent' && { snippet: 'orth executor jobs.py' })} />}
    />
  );
}

/** A row flashes once for each event. Two names in turn: the same one would not begin again. */
function flashOf(told: number): string {
  if (told === 0) return '';
  return told % 2 === 0 ? 'flash-even' : 'flash-odd';
}

function useColumns(kind: Kind, names: Record<string, string>): TableColumnsType<Service> {
  const { t } = useTranslation('lifecycle');
  return useMemo(() => {
    const columns: TableColumnsType<Service> = [
      { title: t('columns.service'), key: 'id', render: (_, one) => <Name service={one} /> },
      { title: t('columns.status'), key: 'status', render: (_, one) => <Status service={one} /> },
      {
        title: t('columns.beat'),
        key: 'beat',
        render: (_, one) => <BeatAge at={one.beatAt} gone={one.status === 'Stopped'} rules={BEATS} />,
      },
      {
        title: t('columns.registered'),
        key: 'registered',
        className: 'nowrap',
        render: (_, one) => <Instant at={one.registeredAt} />,
      },
    ];
    if (kind === 'agent') {
      columns.push({
        title: t('columns.orchestrator'),
        key: 'orchestrator',
        render: (_, one) => (one.orchestratorId ? (names[one.orchestratorId] ?? one.orchestratorId.slice(0, 8)) : '–'),
      });
    }
    return columns;
  }, [t, kind, names]);
}

/** With its id: two services may have the same name. */
function Name({ service: one }: { service: Service }) {
  const { t } = useTranslation('lifecycle');
  const short = one.id.slice(0, 8);
  return (
    <>
      <span className="cell-main">{one.name ?? short}</span>
      <div className="cell-sub mono">{one.url}</div>
      <div className="cell-sub nowrap">
        <span className="mono" title={one.id}>
          {short}
        </span>
        <CopyButton text={one.id} label={t('idOf', { name: one.name ?? short })} />
      </div>
    </>
  );
}

/** What it said when it last beat, and in other colours than then the longer that is ago. */
function Status({ service: one }: { service: Service }) {
  const { t } = useTranslation('lifecycle');
  const grade = gradeOf(useShownNow() - one.beatAt, BEATS);
  const over = one.status === 'Stopped' || one.status === 'Failed';
  const look = SERVICE_LOOKS[one.status];
  return (
    <>
      <Badge look={over ? look : degraded(look, grade)}>{t(`status.${one.status}`)}</Badge>
      {one.failing && <div className="cell-sub">{t(`failing.${one.failing}`)}</div>}
    </>
  );
}
