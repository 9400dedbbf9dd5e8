import { Skeleton } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Overview, Stats } from '@/api/types';
import { usePreference } from '@/app/preferences';

interface Props {
  stats: Stats | undefined;
  overview: Overview | undefined;
}

export function Cards({ stats, overview }: Props) {
  const { t } = useTranslation('dashboard');
  const [language] = usePreference('language');
  const number = (value: number) => new Intl.NumberFormat(language).format(value);
  const rate = (share: number) =>
    new Intl.NumberFormat(language, {
      style: 'percent',
      maximumFractionDigits: share > 0.99 && share < 1 ? 2 : 1,
    }).format(share);
  return (
    <div className="cards">
      <Card
        name={t('cards.executions')}
        to="/executions?since=24h"
        value={stats && number(stats.executions)}
        tone={toneOf(stats)}
      >
        {stats &&
          (stats.success_rate === null
            ? t('cards.noneEnded')
            : t('cards.successRate', { rate: rate(stats.success_rate) }))}
      </Card>
      <Card name={t('cards.running')} to="/executions?status=pending" value={stats && number(stats.open.pending)}>
        {stats && t('cards.waiting', { count: stats.open.init })}
      </Card>
      <Card name={t('cards.jobs')} to="/jobs" value={overview && number(overview.jobs.started)}>
        {overview && <Link to="/jobs?only=paused">{t('cards.jobsPaused', { count: overview.jobs.paused })}</Link>}
      </Card>
      <Card
        name={t('cards.executors')}
        to="/executors"
        value={overview && number(overview.executors.alive)}
        tone={overview && overview.executors.alive < overview.executors.total ? 'orange' : undefined}
      >
        {overview && t('cards.ofTotal', { count: overview.executors.total })}
      </Card>
    </div>
  );
}

function toneOf(stats: Stats | undefined): Tone {
  if (!stats || stats.success_rate === null) return undefined;
  return stats.success_rate >= 0.99 ? 'green' : stats.success_rate >= 0.95 ? 'orange' : 'red';
}

type Tone = 'green' | 'orange' | 'red' | undefined;

interface CardProps {
  name: string;
  value: string | undefined;
  to: string;
  tone?: Tone;
  children: ReactNode;
}

function Card({ name, value, to, tone, children }: CardProps) {
  return (
    <section className="panel card" aria-label={name}>
      <h2>
        <Link to={to}>{name}</Link>
      </h2>
      {value === undefined ? (
        <Skeleton active title={false} paragraph={{ rows: 2 }} />
      ) : (
        <>
          <p className="card-value">{value}</p>
          <p className={tone ? `card-note status-${tone}` : 'card-note muted'}>{children}</p>
        </>
      )}
    </section>
  );
}
