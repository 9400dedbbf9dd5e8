import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useMemo, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { groupsQuery } from '@/api/groups';
import { usePreference } from '@/app/preferences';
import { useLive, usePolling } from '@/live/LiveProvider';
import { Chart } from '@/pages/timeline/Chart';
import {
  HOURS,
  type Hours,
  layRows,
  ROWS_BY,
  type RowsBy,
  recentSpan,
  type Span,
  together,
  zoomIn,
} from '@/pages/timeline/model';
import {
  allQuery,
  askedFor,
  earlierQuery,
  MOST,
  newestQuery,
  openQuery,
  upcomingQuery,
} from '@/pages/timeline/queries';
import { SameAsTable } from '@/pages/timeline/SameAsTable';
import { Toolbar } from '@/pages/timeline/Toolbar';
import { EmptyState } from '@/parts/EmptyState';
import { NotUnderstood } from '@/parts/NotUnderstood';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { useNow } from '@/parts/time/useNow';
import { type Filters, useUnknown, useUrlFilters } from '@/parts/useUrlFilters';
import { SavedViews } from '@/parts/views/SavedViews';
import './timeline.css';

const FILTERS = ['hours', 'rows', 'view', 'from', 'to', 'job_group'] as const;

/** What ran in the last hours, side by side, and what comes next. */
export function Timeline() {
  const { t } = useTranslation('timeline');
  const [filters, change] = useUrlFilters(FILTERS);
  const [lastHours, keepHours] = usePreference('timelineHours');
  const [lastBy, keepBy] = usePreference('timelineRows');
  const hours: Hours = HOURS.find((one) => one === filters.hours) ?? lastHours;
  const by: RowsBy = ROWS_BY.find((one) => one === filters.rows) ?? lastBy;
  const now = useSteadyNow();
  const { from, to } = filters;
  const zoomed = useMemo(() => zoomIn({ ...(from && { from }), ...(to && { to }) }), [from, to]);
  const span = useMemo(() => zoomed ?? recentSpan(hours, now), [zoomed, hours, now]);
  const [unknown, remove] = useUnknown(FILTERS);
  const strange = [...strangeIn(filters, zoomed), ...Object.keys(unknown)];
  const zoom = (wanted: Span | null) =>
    change({
      from: wanted ? new Date(wanted.from).toISOString() : undefined,
      to: wanted ? new Date(wanted.to).toISOString() : undefined,
    });
  return (
    <Page title={t('title')} intro={t('intro')} actions={<SavedViews />}>
      <Toolbar
        hours={hours}
        by={by}
        view={filters.view === 'table' ? 'table' : 'chart'}
        group={filters.job_group}
        zoom={zoomed ?? null}
        span={span}
        onHours={(chosen) => {
          keepHours(chosen);
          change({ hours: chosen, from: undefined, to: undefined });
        }}
        onBy={(chosen) => {
          keepBy(chosen);
          change({ rows: chosen });
        }}
        onView={(view) => change({ view: view === 'table' ? view : undefined })}
        onGroup={(group) => change({ job_group: group })}
        onZoom={zoom}
      />
      {strange.length > 0 ? (
        <NotUnderstood filters={{ ...filters, ...unknown }} names={strange} change={remove} />
      ) : (
        <Shown
          hours={hours}
          by={by}
          group={filters.job_group === undefined ? undefined : Number(filters.job_group)}
          zoom={zoomed ?? null}
          span={span}
          now={now}
          asTable={filters.view === 'table'}
          onZoom={zoom}
        />
      )}
    </Page>
  );
}

interface ShownProps {
  hours: Hours;
  by: RowsBy;
  group: number | undefined;
  zoom: Span | null;
  span: Span;
  now: number;
  asTable: boolean;
  onZoom: (span: Span) => void;
}

/** What lies in the span, which is asked for only where the address means something. */
function Shown({ hours, by, group, zoom, span, now, asTable, onZoom }: ShownProps) {
  const { t } = useTranslation('timeline');
  const { executions, upcoming, ...data } = useShown(hours, zoom, group);
  const naming = useNaming();
  const rows = useMemo(
    () => layRows({ executions, upcoming, by, span, now, naming }),
    [executions, upcoming, by, span, now, naming],
  );
  return (
    <>
      {data.error !== null && <ProblemNotice error={data.error} retry={data.retry} />}
      {data.more && <p className="muted timeline-note">{t('capped', { count: MOST })}</p>}
      {data.loading ? (
        <Skeleton active />
      ) : rows.length === 0 ? (
        <section className="panel">
          <EmptyState title={t('empty.title')}>{t('empty.hint')}</EmptyState>
        </section>
      ) : asTable ? (
        <SameAsTable rows={rows} by={by} />
      ) : (
        <Chart rows={rows} span={span} now={now} onZoom={onZoom} />
      )}
    </>
  );
}

/** The filters that nobody can mean as they are. */
function strangeIn(filters: Filters<(typeof FILTERS)[number]>, zoom: Span | null | undefined): string[] {
  const { hours, rows, view, from, to, job_group } = filters;
  const understood: Record<(typeof FILTERS)[number], boolean> = {
    hours: hours === undefined || HOURS.some((one) => one === hours),
    rows: rows === undefined || ROWS_BY.some((one) => one === rows),
    view: view === undefined || view === 'table' || view === 'chart',
    from: from === undefined || zoom !== undefined,
    to: to === undefined || zoom !== undefined,
    job_group: job_group === undefined || /^[1-9]\d{0,9}$/.test(job_group),
  };
  return FILTERS.filter((name) => !understood[name]);
}

const STEP = 5_000;

/** The time, in steps that do not make the chart twitch; it stands still while live updates do. */
function useSteadyNow(): number {
  const now = Math.floor(useNow() / STEP) * STEP;
  const { paused } = useLive();
  const held = useRef(now);
  if (!paused) held.current = now;
  return held.current;
}

/** Everything that may lie in the span. */
function useShown(hours: Hours, zoom: Span | null, job_group: number | undefined) {
  const asked = askedFor(hours, zoom, job_group);
  const newest = useQuery(newestQuery(asked));
  const open = useQuery(openQuery(job_group));
  const all = useQuery({ ...allQuery(asked), refetchInterval: usePolling(30_000) });
  const earlier = useQuery({ ...earlierQuery(hours, zoom, job_group), refetchInterval: usePolling(30_000) });
  const upcoming = useQuery({ ...upcomingQuery, refetchInterval: usePolling(10_000) });
  const executions = useMemo(
    () => together(earlier.data?.items, all.data?.items, newest.data?.items, open.data?.items),
    [earlier.data, all.data, newest.data, open.data],
  );
  const fires = useMemo(
    () => (upcoming.data?.items ?? []).filter((job) => job_group === undefined || job.job_group === job_group),
    [upcoming.data, job_group],
  );
  const failed = [newest, open, all, earlier, upcoming].find((one) => one.isError);
  return {
    executions,
    upcoming: fires,
    more: all.data?.more || earlier.data?.more || false,
    // What is to come is added when it is there: nobody waits for it who can see what ran.
    loading: newest.isPending || (upcoming.isPending && newest.data?.items.length === 0),
    error: failed ? failed.error : null,
    retry: () => void failed?.refetch(),
  };
}

function useNaming() {
  const { t } = useTranslation('timeline');
  const groups = useQuery(groupsQuery).data?.items;
  return useMemo(
    () => ({
      removedJob: t('removedJob'),
      nobody: t('nobody'),
      toCome: t('toCome'),
      untagged: t('untagged'),
      groups: new Map((groups ?? []).map((group) => [group.id, group.title || group.app_name])),
    }),
    [t, groups],
  );
}
