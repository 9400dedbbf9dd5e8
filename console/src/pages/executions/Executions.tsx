import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { serverNow } from '@/api/serverClock';
import { useMaySomewhere } from '@/api/session';
import type { Execution } from '@/api/types';
import { usePreference } from '@/app/preferences';
import { BulkActions } from '@/pages/executions/BulkActions';
import { useColumns } from '@/pages/executions/columns';
import { FilterBar } from '@/pages/executions/FilterBar';
import {
  asQuery,
  beyondBars,
  type ExecutionFilters,
  FILTERS,
  type FilterName,
  KNOWN,
  SORTS,
} from '@/pages/executions/filters';
import { executionsQuery, histogramQuery, useLatest } from '@/pages/executions/queries';
import { SelectedActions } from '@/pages/executions/SelectedActions';
import { EmptyState } from '@/parts/EmptyState';
import { Histogram } from '@/parts/histogram/Histogram';
import { endingsOf } from '@/parts/histogram/layout';
import { NotUnderstood } from '@/parts/NotUnderstood';
import { Page } from '@/parts/Page';
import { DataTable } from '@/parts/table/DataTable';
import { FLEXING } from '@/parts/table/flexing';
import { useSelection } from '@/parts/table/selection';
import { fullInstant } from '@/parts/time/format';
import { useDisplayZone } from '@/parts/time/Instant';
import { notUnderstood, useUnknown, useUrlFilters } from '@/parts/useUrlFilters';
import { SavedViews } from '@/parts/views/SavedViews';
import { TERMINAL } from '@/status/statuses';
import './executions.css';

/** What ran, by any filter; the filters are in the address. */
export function Executions() {
  const { t } = useTranslation('executions');
  const [filters, change] = useUrlFilters(FILTERS);
  const [unknown, remove] = useUnknown(KNOWN);
  const strange = [...notUnderstood(filters, asQuery(filters)), ...Object.keys(unknown)];
  return (
    <Page
      title={t('title')}
      intro={t('intro')}
      actions={
        <>
          {strange.length === 0 && <BulkActions filters={filters} />}
          <SavedViews />
        </>
      }
    >
      {strange.length === 0 ? (
        <Found filters={filters} change={change} />
      ) : (
        <>
          <FilterBar filters={filters} change={change} />
          <NotUnderstood filters={{ ...filters, ...unknown }} names={strange} change={remove} />
        </>
      )}
    </Page>
  );
}

interface FoundProps {
  filters: ExecutionFilters;
  change: (changes: { [P in FilterName]?: string | undefined }) => void;
}

function Found({ filters, change }: FoundProps) {
  const { t } = useTranslation('executions');
  const [{ sort }, order] = useUrlFilters(SORTS);
  const longestFirst = sort === 'duration';
  const list = useInfiniteQuery(executionsQuery(filters, longestFirst));
  const opened = useMemo(() => serverNow(), []);
  const bars = useQuery(histogramQuery(filters, opened));
  const columns = useColumns(longestFirst);
  const endings = useMemo(() => endingsOf(asQuery(filters).status), [filters]);
  const operates = useMaySomewhere()('operate');
  const shown = list.data?.pages.flatMap((page) => page.items) ?? [];
  const { chosen, select } = useSelection(JSON.stringify(filters), shown, ({ id }) => id);
  const lookedTo = list.data?.pages.at(-1)?.looked_to ?? null;
  return (
    <>
      <section className="panel executions-chart">
        <div className="panel-body">
          {bars.data ? (
            <Histogram
              shown={bars.data}
              label={t('chart.label')}
              height={72}
              endings={endings}
              onChoose={(span) => change({ ...span })}
            />
          ) : (
            <div className="chart-place" />
          )}
          {asQuery(filters).status?.some((one) => !TERMINAL[one]) && (
            <p className="chart-note muted">{t('chart.open')}</p>
          )}
          {endings.length > 0 && beyondBars(filters) && <p className="chart-note muted">{t('chart.others')}</p>}
        </div>
      </section>
      <FilterBar filters={filters} change={change} />
      <SelectedActions selected={chosen} keep={select} />
      {longestFirst && lookedTo && <SortedNote at={lookedTo} count={shown.length} />}
      <DataTable<Execution>
        label={t('title')}
        list={list}
        columns={columns}
        {...FLEXING}
        rowKey="id"
        useLatest={useLatest}
        onChange={(_pages, _filters, sorter) => {
          const by = Array.isArray(sorter) ? sorter[0] : sorter;
          order({ sort: by?.order ? 'duration' : undefined });
        }}
        {...(operates && {
          rowSelection: {
            selectedRowKeys: chosen.map(({ id }) => id),
            preserveSelectedRowKeys: true,
            onChange: select,
            getCheckboxProps: (one) => ({ 'aria-label': t('selected.row', { id: one.id }) }) as Record<string, string>,
          },
        })}
        empty={<Empty filters={filters} lookedTo={list.hasNextPage ? lookedTo : null} />}
      />
    </>
  );
}

/** How far back the longest were looked for: no index has all of history in this order. */
function SortedNote({ at, count }: { at: string; count: number }) {
  const { t } = useTranslation('executions');
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  return (
    <p className="muted" role="note">
      {t('sorted.some', { at: fullInstant(Date.parse(at), language, zone), count })}
    </p>
  );
}

function Empty({ filters, lookedTo }: { filters: ExecutionFilters; lookedTo: string | null }) {
  const { t } = useTranslation('executions');
  const may = useMaySomewhere();
  const [language] = usePreference('language');
  const zone = useDisplayZone();
  if (Object.keys(filters).length === 0) {
    return (
      <EmptyState title={t('empty.title')} {...(may('operate') && { snippet: 'orth job run 1 --follow' })}>
        {t('empty.hint')}
      </EmptyState>
    );
  }
  return (
    <EmptyState title={t('empty.filtered')}>
      {lookedTo && t('empty.lookedTo', { at: fullInstant(Date.parse(lookedTo), language, zone) })}
    </EmptyState>
  );
}
