import { useQuery } from '@tanstack/react-query';
import { Skeleton, Tag } from 'antd';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { type Alarm, type AlarmRule, failingOfJobQuery, lastOfJobQuery, ruleOfJobQuery } from '@/pages/alarms/queries';
import { saidItself } from '@/pages/alarms/telling';
import { Badge } from '@/parts/Badge';
import { visibleLines } from '@/parts/log/ansi';
import { Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { Ago } from '@/parts/time/Ago';
import { duration } from '@/parts/time/format';
import { Instant } from '@/parts/time/Instant';

/** So many of the last messages; the others are on the page of alarms. */
const SHOWN = 3;

/** Whether the job fails, who is told of it and when, and what was told last. */
export function JobAlarms({ jobId }: { jobId: number }) {
  const { t } = useTranslation(['jobs', 'alarms']);
  const rule = useQuery(ruleOfJobQuery(jobId));
  const last = useQuery(lastOfJobQuery(jobId, SHOWN));
  const messages = last.data?.items ?? [];
  return (
    <Panel title={t('alarms.title')} extra={<Link to={`/alarms/history?job_id=${jobId}`}>{t('alarms.all')}</Link>}>
      {rule.isPending && <Skeleton active title={false} />}
      {rule.isError && <ProblemNotice error={rule.error} />}
      {rule.data && (
        <>
          <p className="alarm-standing">
            <Standing jobId={jobId} /> {rule.data.silenced && <Tag>{t('alarms:rules.silenced')}</Tag>}
          </p>
          <RuleFacts rule={rule.data} />
        </>
      )}
      {last.data && (
        <>
          <h3>{t('alarms.last')}</h3>
          {messages.length === 0 && <p className="muted">{t('alarms.none')}</p>}
          <ul className="alarm-messages">
            {messages.map((one) => (
              <Message key={one.id} alarm={one} />
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function Standing({ jobId }: { jobId: number }) {
  const { t } = useTranslation('jobs');
  const failing = useQuery(failingOfJobQuery(jobId));
  if (!failing.isSuccess) return null;
  const one = failing.data;
  if (one === null) return <Badge look={{ colour: 'green', icon: '✓' }}>{t('alarms.fine')}</Badge>;
  return (
    <>
      <Badge look={{ colour: 'red', icon: '✕' }}>{t('alarms.failing')}</Badge>{' '}
      <span className="cell-sub">
        {t('alarms.failures', { count: one.failures })} · {t('alarms.since')} <Instant at={one.since} />
      </span>
    </>
  );
}

function RuleFacts({ rule }: { rule: AlarmRule }) {
  const { t } = useTranslation(['jobs', 'alarms']);
  return (
    <dl className="job-facts">
      <Fact name={t('alarms:rules.channels')} own={saidItself(rule, 'channels', 'mail')}>
        {rule.channels.length > 0 ? (
          rule.channels.join(', ')
        ) : (
          <>
            <span className="nobody-told">{t('alarms:rules.nobody')}</span>{' '}
            <Link to="/alarms/channels">{t('alarms:firing.setChannel')}</Link>
          </>
        )}
      </Fact>
      <Fact name={t('alarms:rules.repeat')} own={saidItself(rule, 'repeat')}>
        {rule.repeat === 0 ? t('alarms:rules.never') : duration(rule.repeat * 1_000)}
      </Fact>
      <Fact name={t('alarms:rules.each')} own={saidItself(rule, 'each')}>
        {rule.each ? t('alarms:rules.eachYes') : t('alarms:rules.eachNo')}
      </Fact>
      <Fact name={t('alarms:rules.resolved')} own={saidItself(rule, 'resolved')}>
        {rule.resolved ? t('alarms:rules.yes') : t('alarms:rules.no')}
      </Fact>
    </dl>
  );
}

function Fact({ name, own, children }: { name: string; own: boolean; children: ReactNode }) {
  const { t } = useTranslation(['jobs', 'alarms']);
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {children} <span className="cell-sub">· {own ? t('alarms:rules.own') : t('alarms:rules.inherited')}</span>
      </dd>
    </div>
  );
}

function Message({ alarm: one }: { alarm: Alarm }) {
  const { t } = useTranslation(['jobs', 'alarms']);
  return (
    <li className="among-words">
      <Link to={`/executions/${one.execution_id}`}>{t(`alarms:kind.${one.kind}`)}</Link> · {one.channel}
      <div className="cell-sub">
        {t(`alarms:state.${one.state}`)} · <Ago at={one.created_at} />
      </div>
      {one.error && <div className="alarm-error">{visibleLines(one.error)}</div>}
    </li>
  );
}
