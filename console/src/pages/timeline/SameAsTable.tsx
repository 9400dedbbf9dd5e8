import { Table, type TableColumnsType } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Execution } from '@/api/types';
import type { Row, RowsBy } from '@/pages/timeline/model';
import { useFirstScreen } from '@/parts/table/firstScreen';
import { useSideways } from '@/parts/table/sideways';
import { usePages } from '@/parts/table/usePages';
import { RanFor } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { StatusTag } from '@/status/StatusTag';
import '@/parts/table/table.css';

interface Line {
  key: string;
  name: string;
  at: string;
  /** Null for a fire that is to come. */
  execution: Execution | null;
}

/** What the chart shows, line by line: for those who cannot see it, and those who would rather read. */
export function SameAsTable({ rows, by }: { rows: Row[]; by: RowsBy }) {
  const { t } = useTranslation('timeline');
  const lines = useMemo(() => linesOf(rows), [rows]);
  const made = useFirstScreen(lines);
  const pages = usePages();
  const sideways = useSideways(t('title'));
  const columns: TableColumnsType<Line> = [
    { title: t(`row.${by}`), key: 'row', render: (_, line) => <span className="cell-main">{line.name}</span> },
    {
      title: t('columns.execution'),
      key: 'execution',
      render: (_, { execution: one }) =>
        one ? <Link to={`/executions/${one.id}`}>#{one.id}</Link> : <span className="muted">–</span>,
    },
    {
      title: t('columns.status'),
      key: 'status',
      render: (_, { execution: one }) => (one ? <StatusTag execution={one} /> : t('toCome')),
    },
    { title: t('columns.at'), key: 'at', className: 'nowrap', render: (_, line) => <Instant at={line.at} /> },
    {
      title: t('columns.duration'),
      key: 'duration',
      align: 'right',
      render: (_, { execution: one }) => (one ? <RanFor run={one} /> : <span className="muted">–</span>),
    },
  ];
  return (
    <section ref={sideways} className="data-table" aria-label={t('title')}>
      <Table<Line> size="small" scroll={{ x: 'max-content' }} columns={columns} dataSource={made} pagination={pages} />
    </section>
  );
}

/** The newest first; what is to come before it. */
function linesOf(rows: Row[]): Line[] {
  const lines = rows.flatMap((row): Line[] => [
    ...row.bars.map(({ execution }) => ({
      key: `${row.key} ${execution.id}`,
      name: row.name,
      at: execution.start_time ?? execution.trigger_time,
      execution,
    })),
    ...row.fires.map((fire) => ({
      key: `${row.key} ${fire.job.job_id} ${fire.at}`,
      name: row.jobId === null ? `${row.name}: ${fire.job.job_desc}` : row.name,
      at: new Date(fire.at).toISOString(),
      execution: null,
    })),
  ]);
  return lines.sort((one, other) => Date.parse(other.at) - Date.parse(one.at));
}
