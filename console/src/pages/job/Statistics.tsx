import { useQuery } from '@tanstack/react-query';
import { Segmented, Skeleton } from 'antd';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { api, got } from '@/api/client';
import { usePreference } from '@/app/preferences';
import { Durations } from '@/parts/histogram/Durations';
import { Histogram } from '@/parts/histogram/Histogram';
import type { Span } from '@/parts/histogram/Plot';
import { Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { duration } from '@/parts/time/format';

const SPANS = [7, 30, 90] as const;

/** How the job went, day by day. */
export function Statistics({ jobId }: { jobId: number }) {
  const { t } = useTranslation('jobs');
  const navigate = useNavigate();
  const [language] = usePreference('language');
  const [days, setDays] = useState<number>(SPANS[0]);
  const stats = useQuery({
    queryKey: ['executions', 'job-stats', jobId, days],
    meta: { sums: true },
    queryFn: () =>
      got(api.GET('/api/v1/jobs/{job_id}/stats', { params: { path: { job_id: jobId }, query: { days } } })),
  });
  const shown = stats.data;
  const list = (span: Span) => void navigate(`/executions?${new URLSearchParams({ job_id: String(jobId), ...span })}`);
  const number = (value: number) => new Intl.NumberFormat(language).format(value);
  const share = new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 1 });
  return (
    <Panel
      title={t('stats.title')}
      extra={
        <Segmented
          size="small"
          aria-label={t('stats.span')}
          value={days}
          onChange={setDays}
          options={SPANS.map((one) => ({ value: one as number, label: t('stats.days', { count: one }) }))}
        />
      }
    >
      {stats.isError && <ProblemNotice error={stats.error} />}
      {!shown && !stats.isError && <Skeleton active title={false} />}
      {shown && (
        <>
          <dl className="job-figures">
            <Figure name={t('stats.ended')}>{number(shown.executions)}</Figure>
            <Figure name={t('stats.succeeded')}>
              {shown.success_rate === null ? '–' : share.format(shown.success_rate)}
            </Figure>
            <Figure name={t('stats.mean')}>{shown.mean_ms === null ? '–' : duration(shown.mean_ms)}</Figure>
            <Figure name={t('stats.longest')}>{shown.longest_ms === null ? '–' : duration(shown.longest_ms)}</Figure>
            <Figure name={t('stats.open')}>{number(shown.open.init + shown.open.pending)}</Figure>
          </dl>
          <Histogram
            shown={{ bucket: 'day', items: shown.days }}
            label={t('stats.chart')}
            height={90}
            onChoose={list}
          />
          {shown.longest_ms !== null && <Durations days={shown.days} label={t('stats.times')} onChoose={list} />}
        </>
      )}
    </Panel>
  );
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
