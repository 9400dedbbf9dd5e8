import { useQuery } from '@tanstack/react-query';
import { Segmented } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import type { Overview } from '@/api/types';
import { historyQuery, SPANS, spanOf } from '@/pages/dashboard/queries';
import { Histogram } from '@/parts/histogram/Histogram';
import { Panel } from '@/parts/Page';
import { delay } from '@/parts/time/format';
import { useUrlFilters } from '@/parts/useUrlFilters';

const FILTERS = ['span'] as const;

/** How executions ended over a span that is chosen, and how late they began; choosing bars leads to what is in them. */
export function Endings({ late }: { late: Overview['late'] | undefined }) {
  const { t } = useTranslation('dashboard');
  const navigate = useNavigate();
  const [filters, change] = useUrlFilters(FILTERS);
  const span = spanOf(filters.span);
  const bars = useQuery(historyQuery(span)).data;
  return (
    <Panel
      title={t('chart.title')}
      extra={
        <span className="chart-tools">
          <Segmented
            size="small"
            aria-label={t('chart.span')}
            value={span}
            onChange={(chosen) => change({ span: chosen === SPANS[0] ? undefined : chosen })}
            options={SPANS.map((one) => ({ value: one, label: t(`chart.spans.${one}`) }))}
          />
          <Link to={`/executions?since=${span}`}>{t('chart.open')}</Link>
        </span>
      }
    >
      {bars ? (
        <Histogram
          shown={bars}
          label={t('chart.title')}
          height={140}
          onChoose={(chosen) => void navigate(`/executions?${new URLSearchParams({ ...chosen })}`)}
        />
      ) : (
        <div className="endings-place" />
      )}
      {late && (
        <p className="late-starts muted" title={t('late.explained')}>
          {t('late.said', { p50: delay(late.p50_ms), p95: delay(late.p95_ms), count: late.fires })}
        </p>
      )}
    </Panel>
  );
}
