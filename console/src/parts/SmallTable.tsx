// A table over a list that is short enough to come whole.

import { Table, type TableProps } from 'antd';
import type { ReactNode } from 'react';
import { usePreference } from '@/app/preferences';
import { useDetails } from '@/parts/table/details';
import { useSideways } from '@/parts/table/sideways';
import './parts.css';

interface Props<Row> extends Omit<TableProps<Row>, 'dataSource' | 'pagination' | 'loading'> {
  rows: readonly Row[] | undefined;
  /** What the table holds, for those who cannot see it. */
  label: string;
  empty: ReactNode;
}

export function SmallTable<Row extends object>({ rows, label, empty, expandable, ...table }: Props<Row>) {
  const [density] = usePreference('density');
  const sideways = useSideways(label);
  return (
    <section ref={sideways} className="small-table" aria-label={label} aria-busy={rows === undefined}>
      <Table<Row>
        size={density}
        scroll={{ x: 'max-content' }}
        {...table}
        {...useDetails(expandable)}
        dataSource={[...(rows ?? [])]}
        loading={rows === undefined}
        pagination={false}
        locale={{ emptyText: rows === undefined ? ' ' : empty }}
      />
    </section>
  );
}
