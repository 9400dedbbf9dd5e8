import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { type TableColumnsType, Tag } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Handoff } from '@/api/types';
import { EmptyState } from '@/parts/EmptyState';
import { DataTable, type KeysetPage } from '@/parts/table/DataTable';
import { duration } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';

/** Executions that changed hands, with the reason and the case it was. */
export function HandoffTable({ list }: { list: UseInfiniteQueryResult<InfiniteData<KeysetPage<Handoff>>> }) {
  const { t } = useTranslation('cluster');
  const columns = useColumns();
  return (
    <DataTable<Handoff>
      label={t('handoffs.title')}
      list={list}
      rowKey="id"
      columns={columns}
      empty={<EmptyState title={t('handoffs.none')}>{t('handoffs.hint')}</EmptyState>}
    />
  );
}

function useColumns(): TableColumnsType<Handoff> {
  const { t } = useTranslation('cluster');
  return useMemo(
    () => [
      { title: t('handoffs.at'), key: 'at', className: 'nowrap', render: (_, one) => <Instant at={one.at} /> },
      {
        title: t('handoffs.execution'),
        key: 'execution',
        render: (_, one) => <Link to={`/executions/${one.execution_id}`}>#{one.execution_id}</Link>,
      },
      {
        title: t('handoffs.hands'),
        key: 'hands',
        className: 'nowrap',
        render: (_, one) => (
          <>
            {one.from_node ?? <span className="muted">{t('waiting.nobody')}</span>} → {one.to_node}
          </>
        ),
      },
      { title: t('handoffs.reason'), key: 'reason', render: (_, one) => t(`reason.${one.reason}`) },
      {
        title: t('handoffs.case'),
        key: 'case',
        render: (_, one) =>
          one.case ? (
            <>
              <Tag>{one.case}</Tag>
              <span className="muted">{t(`case.${one.case}`)}</span>
            </>
          ) : (
            <span className="muted">–</span>
          ),
      },
      {
        title: t('handoffs.waited'),
        key: 'waited',
        align: 'right',
        className: 'nowrap',
        render: (_, one) => duration(one.waited_ms),
      },
      { title: t('handoffs.tries'), key: 'tries', align: 'right', render: (_, one) => one.tries ?? '–' },
    ],
    [t],
  );
}
