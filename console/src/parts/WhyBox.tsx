import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { Instant } from '@/parts/time/Instant';

/** Why an execution is where it is, and what happens next: asked for when it is shown. */
export function WhyBox({ executionId, steps = true }: { executionId: number; steps?: boolean }) {
  const { t } = useTranslation('common');
  const why = useQuery({
    queryKey: ['executions', 'why', executionId],
    queryFn: () =>
      got(api.GET('/api/v1/executions/{execution_id}/why', { params: { path: { execution_id: executionId } } })),
  });
  if (why.isPending) return <Skeleton active title={false} paragraph={{ rows: 2 }} />;
  if (why.isError) return <ProblemNotice error={why.error} />;
  return (
    <section className="why-box" aria-label={t('why.title')}>
      <h4>{t('why.title')}</h4>
      <p>{why.data.summary}</p>
      {steps && why.data.steps.length > 0 && (
        <ol>
          {why.data.steps.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: steps have no id and only ever grow at the end
            <li key={index}>
              {step.text} {step.at && <Instant at={step.at} />}
            </li>
          ))}
        </ol>
      )}
      {why.data.next !== why.data.summary && (
        <p className="muted">
          {t('why.next')} {why.data.next}
        </p>
      )}
    </section>
  );
}
