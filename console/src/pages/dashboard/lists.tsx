import { Skeleton } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Overview } from '@/api/types';
import { EmptyState } from '@/parts/EmptyState';
import { Panel } from '@/parts/Page';
import { Ago } from '@/parts/time/Ago';
import { duration } from '@/parts/time/format';
import { StatusLabel } from '@/status/StatusTag';

/** Jobs by their next fire; a frequent one is there once. */
export function UpcomingFires({ items }: { items: Overview['upcoming'] | undefined }) {
  const { t } = useTranslation('dashboard');
  return (
    <Listed
      title={t('upcoming.title')}
      items={items}
      empty={<EmptyState title={t('upcoming.empty')}>{t('upcoming.hint')}</EmptyState>}
    >
      {(one) => (
        <li key={one.job_id}>
          <Name id={one.job_id} name={one.job_desc} sub={one.schedule_conf} mono />
          <span className="nowrap">
            <Ago at={one.due_time} />
          </span>
        </li>
      )}
    </Listed>
  );
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
          <Link to={`/executions/${one.execution_id}`}>
            <StatusLabel status={one.status} triggerCode={one.trigger_code} handleCode={one.handle_code} />
          </Link>
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
          <Name id={one.job_id} name={one.job_desc} sub={t('slowest.count', { count: one.executions })} />
          <span className="list-right">
            {duration(one.longest_ms)}
            <span className="cell-sub">{t('slowest.mean', { mean: duration(one.mean_ms) })}</span>
          </span>
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

function Name({ id, name, sub, mono }: { id: number; name: string; sub: ReactNode; mono?: boolean }) {
  return (
    <span className="list-name">
      <Link to={`/jobs/${id}`} className="cell-main" title={name}>
        {name}
      </Link>
      <span className={mono ? 'cell-sub mono' : 'cell-sub'}>{sub}</span>
    </span>
  );
}
