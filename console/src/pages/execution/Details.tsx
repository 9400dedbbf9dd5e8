// The tabs beside the log: what it was given and gave back, the raw messages, and what happened.

import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { laidOut } from '@/api/exactJson';
import type { ExecutionDetail } from '@/api/types';
import { CopyButton } from '@/parts/CopyButton';
import { visibleLines } from '@/parts/log/ansi';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { Instant } from '@/parts/time/Instant';
import { whyQuery } from '@/parts/why/query';
import { step } from '@/parts/why/telling';
import { useSpeech } from '@/parts/why/useSpeech';
import { CutNote } from '@/status/CutNote';

export function Parameters({ execution: one }: { execution: ExecutionDetail }) {
  const { t } = useTranslation('execution');
  return (
    <div className="detail-texts">
      <Text title={t('params.param')} text={laidOut(one.executor_param)} empty={t('params.none')} />
      <Text
        title={t('params.result')}
        text={one.status === 'success' ? laidOut(one.handle_msg ?? '') : ''}
        empty={t('params.noResult')}
      />
    </div>
  );
}

export function Messages({ execution: one }: { execution: ExecutionDetail }) {
  const { t } = useTranslation('execution');
  return (
    <div className="detail-texts">
      <Text
        title={t('messages.trigger', { code: one.trigger_code })}
        text={one.trigger_msg ?? ''}
        empty={t('messages.none')}
      />
      <Text
        title={t('messages.handle', { code: one.handle_code })}
        text={one.handle_msg ?? ''}
        empty={t('messages.none')}
      />
      {one.late_code !== null && <p>{t('messages.late', { code: one.late_code })}</p>}
      {one.unreadable && <p>{visibleLines(one.unreadable)}</p>}
    </div>
  );
}

function Text({ title, text, empty }: { title: string; text: string; empty: string }) {
  return (
    <section>
      <header>
        <h3>{title}</h3>
        {text && <CopyButton text={text} label={title} />}
      </header>
      {text && <CutNote message={text} />}
      {text ? (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a long text scrolls, also by keyboard
          tabIndex={0}
        >
          {visibleLines(text)}
        </pre>
      ) : (
        <p className="muted">{empty}</p>
      )}
    </section>
  );
}

/** The story of the execution, notes included, in order. */
export function Events({ executionId }: { executionId: number }) {
  const why = useQuery(whyQuery(executionId));
  const speech = useSpeech();
  if (why.isPending || !speech) return <Skeleton active title={false} />;
  if (why.isError) return <ProblemNotice error={why.error} retry={() => void why.refetch()} />;
  return (
    <ol className="events">
      {why.data.steps.map((one, index) => {
        const { text, words } = step(one, why.data, speech);
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have no id and only ever grow at the end
          <li key={index}>
            <span className="event-time">
              <Instant at={one.at} />
            </span>
            <span>
              {visibleLines(text)}
              {words && <span className="event-words muted">{visibleLines(words)}</span>}
            </span>
          </li>
        );
      })}
    </ol>
  );
}
