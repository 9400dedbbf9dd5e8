import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Cause, ExecutionDetail } from '@/api/types';
import { AlarmMark } from '@/pages/executions/AlarmMark';
import { CAUSES } from '@/pages/executions/filters';
import { RanFor } from '@/parts/time/Duration';
import { Instant } from '@/parts/time/Instant';
import { Owner } from '@/status/Owner';
import { PhaseText } from '@/status/PhaseText';
import { StatusTag } from '@/status/StatusTag';

/** The header of the page: everything about one execution that fits into a word or two. */
export function Facts({ execution: one }: { execution: ExecutionDetail }) {
  const { t } = useTranslation(['execution', 'executions']);
  const address = one.executor_address;
  return (
    <dl className="facts panel">
      <Fact name={t('facts.status')}>
        <StatusTag execution={one} />
        <AlarmMark execution={one} />
        <PhaseText execution={one} />
      </Fact>
      <Fact name={t('facts.due')}>
        <Instant at={one.schedule_time ?? one.trigger_time} />
      </Fact>
      <Fact name={t('facts.start')}>
        <Instant at={one.start_time} />
      </Fact>
      <Fact name={t('facts.duration')}>
        <RanFor run={one} />
      </Fact>
      <Fact name={t('facts.executor')}>
        {address ? (
          <Link to={`/executions?${new URLSearchParams({ executor: address })}`} className="mono">
            {address.replace(/^https?:\/\//, '')}
          </Link>
        ) : (
          <span className="mono">{one.queue ?? '–'}</span>
        )}
      </Fact>
      <Fact name={t('facts.owner')}>
        <Owner execution={one} />
      </Fact>
      <Fact name={t('facts.attempt')}>
        {one.executor_fail_retry_count > 0
          ? t('facts.attemptOf', { attempt: one.attempt, left: one.executor_fail_retry_count })
          : one.attempt}
      </Fact>
      <Fact name={t('facts.trigger')}>
        {one.cause in CAUSES ? t(`executions:cause.${one.cause as Cause}`) : one.cause}
        {one.batch_id !== null && (
          <>
            {' '}
            <Link to={`/executions?batch_id=${one.batch_id}`}>{t('facts.batch', { id: one.batch_id })}</Link>
          </>
        )}
      </Fact>
      {one.shard_total > 1 && (
        <Fact name={t('facts.shard')}>{t('facts.shardOf', { index: one.shard_index, total: one.shard_total })}</Fact>
      )}
      {one.log_level && (
        <Fact name={t('facts.logLevel')}>
          <span className="mono">{one.log_level}</span>
        </Fact>
      )}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
