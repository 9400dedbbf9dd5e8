import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Execution } from '@/api/types';
import { CopyButton } from '@/parts/CopyButton';
import { Duration } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { WhyBox } from '@/parts/why/WhyBox';

/** The two halves of a status with their raw messages, as the database has them. */
export function StatusDetails({ execution }: { execution: Execution }) {
  const { t } = useTranslation('status');
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => box.current?.focus(), []);
  const one = execution;
  return (
    <div ref={box} tabIndex={-1} role="dialog" aria-label={t('details')} className="status-details">
      <Half title={t('trigger')} code={one.trigger_code} message={one.trigger_msg} copy={t('triggerMessage')}>
        <Fact name={t('opened')}>
          <Instant at={one.trigger_time} />
        </Fact>
        <Fact name={t('coordinator')}>{one.owner_node ?? '–'}</Fact>
        <Fact name={t('executor')}>{one.executor_address ?? one.queue ?? '–'}</Fact>
      </Half>
      <Half title={t('execution')} code={one.handle_code} message={one.handle_msg} copy={t('handleMessage')}>
        <Fact name={t('started')}>
          <Instant at={one.start_time} />
        </Fact>
        <Fact name={t('ended')}>
          <Instant at={one.handle_time} />
        </Fact>
        <Fact name={t('took')}>
          {one.start_time && one.handle_time ? <Duration from={one.start_time} to={one.handle_time} /> : '–'}
        </Fact>
      </Half>
      {one.status !== 'success' && <WhyBox executionId={one.id} />}
      <footer>
        <Link to={`/executions/${one.id}`}>{t('openExecution', { id: one.id })}</Link>
        <Link to={`/executions/${one.id}/log`}>{t('openLog')}</Link>
      </footer>
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
        <h4>
          {title} <code>{code}</code>
        </h4>
        {message && <CopyButton text={message} label={copy} />}
      </header>
      <dl>{children}</dl>
      {message ? (
        <pre
          // biome-ignore lint/a11y/noNoninteractiveTabindex: a long message scrolls, also by keyboard
          tabIndex={0}
        >
          {message}
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
