import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { executionQuery } from '@/api/executions';
import type { Execution } from '@/api/types';
import { CopyButton } from '@/parts/CopyButton';
import { visibleLines } from '@/parts/log/ansi';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { RanFor } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { WhyBox } from '@/parts/why/WhyBox';
import { CutNote } from '@/status/CutNote';
import { Owner } from '@/status/Owner';
import { TERMINAL } from '@/status/statuses';

/** The two halves of a status with their raw messages, as the database has them. */
export function StatusDetails({ execution }: { execution: Execution }) {
  const { t } = useTranslation('status');
  const box = useRef<HTMLDivElement>(null);
  // It stands where there is room: to have the focus it moves nothing.
  useEffect(() => box.current?.focus({ preventScroll: true }), []);
  const one = execution;
  return (
    <div ref={box} tabIndex={-1} role="dialog" aria-label={t('details')} className="status-details">
      <div className="status-body">
        <Half title={t('trigger')} code={one.trigger_code} message={one.trigger_msg} copy={t('triggerMessage')}>
          <Fact name={t('opened')}>
            <Instant at={one.trigger_time} />
          </Fact>
          {one.status === 'trigger_failed' && (
            <Fact name={t('failed')}>
              <Instant at={one.handle_time} />
            </Fact>
          )}
          {(one.sent_by || !TERMINAL[one.status]) && (
            <Fact name={t('coordinator')}>
              {one.sent_by ? <span className="mono">{one.sent_by}</span> : <Owner execution={one} />}
            </Fact>
          )}
          <Fact name={t('executor')}>{one.executor_address ?? one.queue ?? '–'}</Fact>
        </Half>
        <Half title={t('execution')} code={one.handle_code} message={one.handle_msg} copy={t('handleMessage')}>
          <Fact name={t('started')}>
            <Instant at={one.start_time} />
          </Fact>
          {one.status !== 'trigger_failed' && (
            <>
              <Fact name={t('ended')}>
                <Instant at={one.handle_time} />
              </Fact>
              <Fact name={t('took')}>{one.handle_time ? <RanFor run={one} /> : '–'}</Fact>
            </>
          )}
        </Half>
        {one.status !== 'success' && <WhyBox executionId={one.id} besideMessages />}
      </div>
      <footer>
        <Link to={`/executions/${one.id}`}>{t('openExecution', { id: one.id })}</Link>
        <Link to={`/executions/${one.id}/log`}>{t('openLog')}</Link>
      </footer>
    </div>
  );
}

/** The same of an execution that has to be asked for. */
export function DetailsOf({ id }: { id: number }) {
  const one = useQuery(executionQuery(id));
  if (one.data) return <StatusDetails execution={one.data} />;
  return (
    <div className="status-details">
      {one.isError ? (
        <ProblemNotice error={one.error} retry={() => void one.refetch()} />
      ) : (
        <Skeleton active title={false} paragraph={{ rows: 4 }} />
      )}
    </div>
  );
}

interface HalfProps {
  title: string;
  code: number;
  message: string | null;
  copy: string;
  children: React.ReactNode;
}

function Half({ title, code, message, copy, children }: HalfProps) {
  const { t } = useTranslation('status');
  return (
    <section>
      <header>
        <h2 className="half-title">
          {title} <code>{code}</code>
        </h2>
        {message && <CopyButton text={message} label={copy} />}
      </header>
      <dl>{children}</dl>
      {message && <CutNote message={message} />}
      {message ? (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a long message scrolls, also by keyboard
          tabIndex={0}
        >
          {visibleLines(message)}
        </pre>
      ) : (
        <p className="muted">{t('noMessage')}</p>
      )}
    </section>
  );
}

function Fact({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
