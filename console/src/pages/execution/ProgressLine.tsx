import { Progress } from 'antd';
import { useTranslation } from 'react-i18next';
import type { ExecutionDetail } from '@/api/types';
import { visibleLines } from '@/parts/log/ansi';
import { shareOf } from '@/parts/share';
import { duration } from '@/parts/time/format';

/** How far it is, as it says itself, and how long it may still take. */
export function ProgressLine({ progress }: { progress: NonNullable<ExecutionDetail['progress']> }) {
  const { t } = useTranslation('execution');
  const { done, total, message, eta } = progress;
  const percent = shareOf(done, total);
  return (
    <section className="progress-line panel" aria-label={t('progress.label')}>
      {percent === null ? (
        <span>{t('progress.done', { done })}</span>
      ) : (
        <Progress percent={percent} size="small" status="normal" aria-label={t('progress.label')} />
      )}
      <span className="muted">
        {[
          visibleLines(message),
          total && t('progress.of', { done, total }),
          eta !== null && t('progress.left', { time: duration(eta * 1_000) }),
        ]
          .filter(Boolean)
          .join(' · ')}
      </span>
    </section>
  );
}
