import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { whyQuery } from '@/parts/why/query';
import { following, summary } from '@/parts/why/telling';
import { useSpeech } from '@/parts/why/useSpeech';

/** Why an execution is where it is, and what happens next: asked for when it is shown. */
export function WhyBox({ executionId }: { executionId: number }) {
  const { t } = useTranslation('common');
  const speech = useSpeech();
  const why = useQuery(whyQuery(executionId));
  if (why.isError) return <ProblemNotice error={why.error} />;
  if (why.isPending || !speech) return <Skeleton active title={false} paragraph={{ rows: 2 }} />;
  const { text, words } = summary(why.data, speech);
  const next = following(why.data, speech);
  return (
    <section className="why-box" aria-label={t('why.title')}>
      <h4>{t('why.title')}</h4>
      <p>{text}</p>
      {words && (
        <p className="muted">
          {speech.t('why:words')} {words}
        </p>
      )}
      {!text.endsWith(next) && (
        <p className="muted">
          {t('why.next')} {next}
        </p>
      )}
    </section>
  );
}
