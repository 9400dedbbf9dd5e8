import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { visibleLines } from '@/parts/log/ansi';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { whyQuery } from '@/parts/why/query';
import { following, summary } from '@/parts/why/telling';
import { useSpeech } from '@/parts/why/useSpeech';

interface Props {
  executionId: number;
  /** Where the messages stand beside it, it does not repeat them. */
  besideMessages?: boolean;
}

/** Why an execution is where it is, and what happens next: asked for when it is shown. */
export function WhyBox({ executionId, besideMessages = false }: Props) {
  const { t } = useTranslation('common');
  const speech = useSpeech();
  const why = useQuery(whyQuery(executionId));
  if (why.isError) return <ProblemNotice error={why.error} />;
  if (why.isPending || !speech) return <Skeleton active title={false} paragraph={{ rows: 2 }} />;
  const { text, words } = summary(why.data, speech);
  const next = visibleLines(following(why.data, speech));
  return (
    <section className="why-box" aria-label={t('why.title')}>
      <h2 className="why-title">{t('why.title')}</h2>
      <Said>{text}</Said>
      {words && !besideMessages && <Said muted>{`${speech.t('why:words')} ${words}`}</Said>}
      {!visibleLines(text).endsWith(next) && (
        <p className="muted">
          {t('why.next')} {next}
        </p>
      )}
    </section>
  );
}

/** So much fits without a bound: what is longer scrolls in its own place, also by keyboard. */
const SHORT = 600;

function Said({ children, muted }: { children: string; muted?: boolean }) {
  const text = visibleLines(children); // a handler may have said it, with characters that turn what is read
  const long = text.length > SHORT || text.split('\n').length > 6;
  const kind = `${muted ? 'muted' : ''}${long ? ' why-long' : ''}`;
  return (
    <p className={kind} {...(long && { tabIndex: 0 })}>
      {text}
    </p>
  );
}
