// A table over a list that is read by keyset: rows come page by page and stay where they are while more are added.

import type { InfiniteData, UseInfiniteQueryResult } from '@tanstack/react-query';
import { Button, Table, type TableProps } from 'antd';
import type { Key, ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { usePreference } from '@/app/preferences';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { useDetails } from '@/parts/table/details';
import { useFirstScreen } from '@/parts/table/firstScreen';
import { type UseLatest, useHeldRows } from '@/parts/table/heldRows';
import { useSideways } from '@/parts/table/sideways';
import '@/parts/parts.css';
import './table.css';

export interface KeysetPage<Row> {
  items: Row[];
  next_cursor: string | null;
}

interface Props<Row> extends Omit<TableProps<Row>, 'dataSource' | 'pagination' | 'loading' | 'rowKey'> {
  list: UseInfiniteQueryResult<InfiniteData<KeysetPage<Row>>>;
  rowKey: (keyof Row & string) | ((row: Row) => Key);
  /** What is shown when the list is empty: it should say why, and what to do. */
  empty: ReactNode;
  /** What the table holds, for those who cannot see it. */
  label: string;
  /** How rows that are held though they have left the list are by now; as they were, where that is not said. */
  useLatest?: UseLatest<Row>;
}

export function DataTable<Row extends object>({ list, empty, label, rowKey, useLatest, ...table }: Props<Row>) {
  const { t } = useTranslation('common');
  const [density] = usePreference('density');
  const keyOf = (row: Row) => (typeof rowKey === 'function' ? rowKey(row) : (row[rowKey] as Key));
  const selected = !!table.rowSelection?.selectedRowKeys?.length;
  const held = useHeldRows(list.data?.pages.flatMap((page) => page.items) ?? [], keyOf, selected, useLatest);
  const made = useFirstScreen(held.rows);
  const sideways = useSideways(label);
  const details = useDetails(table.expandable);
  if (list.isError && !list.data) return <ProblemNotice error={list.error} retry={() => list.refetch()} />;
  return (
    <section ref={held.place} className="data-table" aria-label={label} aria-busy={list.isPending}>
      <div className="table-waiting" aria-live="polite">
        {held.changed && (
          <Button size="small" type="primary" shape="round" onClick={held.release}>
            {held.fresh > 0 ? t('table.fresh', { count: held.fresh }) : t('table.changed')}
          </Button>
        )}
      </div>
      <div ref={sideways}>
        <Table<Row>
          size={density}
          scroll={{ x: 'max-content' }}
          {...table}
          {...details}
          {...(table.rowSelection && {
            rowSelection: {
              ...table.rowSelection,
              getTitleCheckboxProps: () => ({ 'aria-label': t('table.selectAll') }) as Record<string, string>,
            },
          })}
          rowKey={rowKey}
          dataSource={made}
          loading={list.isPending}
          pagination={false}
          locale={{ emptyText: list.isPending ? ' ' : empty }}
        />
      </div>
      <footer className="table-foot muted">
        <span aria-live="polite">
          {/* Of what is not here yet nobody knows how many there are. */}
          {list.isPending ? '…' : t(list.hasNextPage ? 'table.shownMore' : 'table.shown', { count: held.rows.length })}
        </span>
        {list.hasNextPage && (
          <Button size="small" loading={list.isFetchingNextPage} onClick={() => list.fetchNextPage()}>
            {t('table.more')}
          </Button>
        )}
      </footer>
    </section>
  );
}
