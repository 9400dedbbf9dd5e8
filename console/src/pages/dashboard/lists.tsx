import { Skeleton } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useMaySomewhere } from '@/api/session';
import type { Overview } from '@/api/types';
import { EmptyState } from '@/parts/EmptyState';
import { Panel } from '@/parts/Page';
import { Ago } from '@/parts/time/Ago';
import { Coming } from '@/parts/time/Coming';
import { duration } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';
import { RunStatusTag } from '@/status/StatusTag';

/** Jobs by their next fire; a frequent one is there once. */
export function UpcomingFires({ items }: { items: Overview['upcoming'] | undefined }) {
  const { t } = useTranslation('dashboard');
  const may = useMaySomewhere();
  return (
    <Listed
      title={t('upcoming.title')}
      items={items}
      empty={<EmptyState title={t('upcoming.empty')}>{may('operate') && t('upcoming.hint')}</EmptyState>}
    >
      {(one) => (
        <li key={one.job_id}>
          <Name
            id={one.job_id}
            name={one.job_desc}
            sub={
              <>
                {one.schedule_type === 'AT' ? (
                  <Instant at={one.due_time} />
                ) : (
                  <span className="mono">{one.schedule_conf}</span>
                )}
                <HowOften perDay={one.per_day} />
              </>
            }
          />
          <span className="nowrap">
            <Coming at={one.due_time} />
          </span>
        </li>
      )}
    </Listed>
  );
}

/** Fires of a day are counted up to this. */
const COUNTED = 1_500;

/** How many fires stand behind the row of a job; nothing for one that fires once, or when something else decides. */
function HowOften({ perDay: count }: { perDay: number | null }) {
  const { t } = useTranslation('dashboard');
  if (count === null || count < 2) return null;
  return <> · {count < COUNTED ? t('upcoming.perDay', { count }) : t('upcoming.perDayMore', { count: COUNTED })}</>;
}

export function FailingJobs({ items }: { items: Overview['failing'] | undefined }) {
  const { t } = useTranslation('dashboard');
  return (
    <Listed
      title={t('failing.title')}
      items={items}
      empty={<EmptyState title={t('failing.empty')}>{t('failing.hint')}</EmptyState>}
    >
      {(one) => (
        <li key={one.job_id}>
          <Name
            id={one.job_id}
            name={one.job_desc}
            sub={
              <>
                {t('failing.streak', { count: one.streak })} · <Ago at={one.ended_at} />
              </>
            }
          />
          <RunStatusTag run={{ ...one, id: one.execution_id }} />
        </li>
      )}
    </Listed>
  );
}

export function SlowestJobs({ items }: { items: Overview['slowest'] | undefined }) {
  const { t } = useTranslation('dashboard');
  return (
    <Listed title={t('slowest.title')} items={items} empty={<EmptyState title={t('slowest.empty')} />}>
      {(one) => (
        <li key={one.job_id}>
          <Name
            id={one.job_id}
            name={one.job_desc}
            sub={`${t('slowest.count', { count: one.executions })} · ${t('slowest.mean', { mean: duration(one.mean_ms) })}`}
          />
          <span className="nowrap">{duration(one.longest_ms)}</span>
        </li>
      )}
    </Listed>
  );
}

interface ListedProps<Item> {
  title: string;
  items: Item[] | undefined;
  empty: ReactNode;
  children: (item: Item) => ReactNode;
}

function Listed<Item>({ title, items, empty, children }: ListedProps<Item>) {
  return (
    <Panel title={title} flush>
      {items === undefined ? (
        <div className="panel-body">
          <Skeleton active title={false} paragraph={{ rows: 4 }} />
        </div>
      ) : items.length === 0 ? (
        empty
      ) : (
        <ul className="dashboard-list">{items.map(children)}</ul>
      )}
    </Panel>
  );
}

function Name({ id, name, sub }: { id: number; name: string; sub: ReactNode }) {
  return (
    <span className="list-name">
      <Link to={`/jobs/${id}`} className="cell-main" title={name}>
        {name}
      </Link>
      <span className="cell-sub">{sub}</span>
    </span>
  );
}
