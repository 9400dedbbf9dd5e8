import {
  CheckCircleOutlined,
  CloseCircleOutlined,
  ExclamationCircleOutlined,
  PauseCircleOutlined,
  StopOutlined,
} from '@ant-design/icons';
import { type TableColumnsType, Tag, Tooltip } from 'antd';
import { Fragment, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Executor, Group, Liveness, Reach } from '@/api/types';
import { useShownNow } from '@/live/LiveProvider';
import { InstanceActions } from '@/pages/executors/InstanceActions';
import { livenessNow, rulesBetween, together } from '@/pages/executors/presence';
import { Badge, type BadgeLook } from '@/parts/Badge';
import { EmptyState } from '@/parts/EmptyState';
import { visibleLines } from '@/parts/log/ansi';
import { SmallTable } from '@/parts/SmallTable';
import { FLEXING } from '@/parts/table/flexing';
import { Ago } from '@/parts/time/Ago';
import { BeatAge } from '@/parts/time/BeatAge';
import { Instant } from '@/parts/time/Instant';
import { type BeatRules, beatOn } from '@/parts/time/staleness';
import type { StatusColours } from '@/theme/tokens';

const LOOKS: Record<Liveness, BadgeLook> = {
  alive: { colour: 'green', icon: <CheckCircleOutlined /> },
  missed_30: { colour: 'orange', icon: <ExclamationCircleOutlined />, outlined: true },
  missed_60: { colour: 'orange', icon: <ExclamationCircleOutlined /> },
  missed_90: { colour: 'red', icon: <CloseCircleOutlined /> },
  removed: { colour: 'gray', icon: <StopOutlined /> },
};

const REACH_COLOURS: Record<Reach['state'], keyof StatusColours> = {
  reachable: 'green',
  untried: 'gray',
  undoubted: 'green',
  suspect: 'orange',
  unreachable: 'red',
};

interface Props {
  executors: Executor[] | undefined;
  removed: Executor[];
  groups: Group[];
  answeredAt: number;
  rules: BeatRules;
}

export function InstanceTable({ executors, removed, groups, ...judged }: Props) {
  const { t } = useTranslation('executors');
  const columns = useColumns(groups, judged);
  const rows = executors && [...executors, ...gone(removed, executors)];
  return (
    <SmallTable<Executor>
      className="instances"
      label={t('instances.title')}
      rows={rows}
      rowKey={(one) => `${one.app_name} ${one.address} ${one.state === 'removed'}`}
      columns={columns}
      {...FLEXING}
      empty={
        <EmptyState title={t('instances.none')} snippet="orth executor jobs.py">
          {t('instances.hint')}
        </EmptyState>
      }
    />
  );
}

/** Those that were removed and have not come back. */
function gone(removed: Executor[], executors: Executor[]): Executor[] {
  const there = new Set(executors.map((one) => `${one.app_name} ${one.address}`));
  return removed.filter((one) => !there.has(`${one.app_name} ${one.address}`));
}

type Judged = Pick<Props, 'answeredAt' | 'rules'>;

function useColumns(groups: Group[], { answeredAt, rules }: Judged): TableColumnsType<Executor> {
  const { t } = useTranslation('executors');
  return useMemo(
    () => [
      {
        title: t('instances.state'),
        key: 'state',
        render: (_, one) => <State executor={one} answeredAt={answeredAt} rules={rules} />,
      },
      {
        title: t('instances.address'),
        key: 'address',
        className: 'nowrap',
        render: (_, one) => (
          <>
            <Link
              to={`/executions?executor=${encodeURIComponent(one.address)}`}
              className="mono cell-main"
              title={t('instances.executions')}
              data-open
            >
              {one.address}
            </Link>
            <div className="cell-sub">
              {one.app_name}
              {one.queues.length > 0 && ` · ${t('instances.queues', { queues: one.queues.join(', ') })}`}
            </div>
            <Version executor={one} />
          </>
        ),
      },
      {
        title: t('instances.reach'),
        key: 'reach',
        className: 'reach-cell',
        render: (_, one) => <Reaches executor={one} />,
      },
      {
        title: <LoadHeading />,
        key: 'load',
        className: 'load-cell',
        render: (_, one) => <Load executor={one} />,
      },
      {
        title: <span title={t('instances.asOfBeat')}>{t('instances.backlog')}</span>,
        key: 'backlog',
        render: (_, one) => <Backlog executor={one} />,
      },
      {
        title: t('instances.beat'),
        key: 'beat',
        className: 'nowrap',
        render: (_, one) => (
          <>
            <BeatAge
              at={beatOn(answeredAt, one.beat_age)}
              gone={one.state === 'removed'}
              rules={rulesBetween(one.state, rules)}
              plain
            />
            {one.since && (
              <div className="cell-sub">
                {t('instances.since')} <Instant at={one.since} />
              </div>
            )}
          </>
        ),
      },
      {
        title: <span className="visually-hidden">{t('instances.actions')}</span>,
        key: 'actions',
        fixed: 'end',
        align: 'right',
        render: (_, one) => (
          <span className="instance-actions">
            <InstanceActions executor={one} group={groups.find((group) => group.app_name === one.app_name)?.id} />
          </span>
        ),
      },
    ],
    [t, groups, answeredAt, rules],
  );
}

/** Figures that an executor says with its beats are as old as the last one. */
function LoadHeading() {
  const { t } = useTranslation('executors');
  return (
    <>
      {t('instances.load')}
      <div className="cell-sub">{t('instances.asOfBeat')}</div>
    </>
  );
}

const DRAINED: BadgeLook = { colour: 'gray', icon: <PauseCircleOutlined />, outlined: true };

const UNAVAILABLE = ['leaving', 'cannot_record', 'full', 'no_threads'] as const;

/** The reason that has a text here; an executor of a newer version may say another one. */
function reasonShown(said: string): (typeof UNAVAILABLE)[number] | 'other' {
  return UNAVAILABLE.find((known) => known === said) ?? 'other';
}

function State({ executor, answeredAt, rules }: Judged & { executor: Executor }) {
  const { t } = useTranslation('executors');
  const state = livenessNow(executor, answeredAt, useShownNow(), rules);
  const { drained_since, unavailable } = executor;
  return (
    <>
      <Badge look={LOOKS[state]}>{t(`liveness.${state}`)}</Badge>
      {unavailable !== null && (
        <div className="drained">
          <Badge look={DRAINED}>{t(`unavailable.${reasonShown(unavailable)}`)}</Badge>
        </div>
      )}
      {drained_since !== null && (
        <div className="drained">
          <Badge look={DRAINED}>{t('draining.drained')}</Badge>
          <div className="cell-sub">
            <Instant at={drained_since} />
          </div>
        </div>
      )}
    </>
  );
}

function Reaches({ executor }: { executor: Executor }) {
  const { t } = useTranslation('executors');
  if (executor.queues.length > 0) return <span className="muted">{t('reach.byQueue')}</span>;
  if (executor.reachability.length === 0) return <span className="muted">–</span>;
  return (
    <ul className="reaches">
      {together(executor.reachability).map((same) => (
        <li key={same[0].node}>
          <ReachText same={same} address={executor.address} />
        </li>
      ))}
    </ul>
  );
}

/** What one coordinator finds, or several; a name is never broken. */
function ReachText({ same: [reach, ...others], address }: { same: [Reach, ...Reach[]]; address: string }) {
  const { t } = useTranslation('executors');
  const said = (
    <span>
      <span className={`reach-state status-${REACH_COLOURS[reach.state]}`}>{t(`reach.${reach.state}`)}</span>{' '}
      <span className="muted">
        {t('reach.from')}{' '}
        {[reach, ...others].map(({ node }, index) => (
          <Fragment key={node}>
            {index > 0 && ' '}
            <span className="reach-node" title={node}>
              {node}
              {index < others.length && ','}
            </span>
          </Fragment>
        ))}
      </span>
    </span>
  );
  if (!reach.reason) return said;
  return (
    <>
      <Tooltip title={t('reach.tried', { address })}>{said}</Tooltip>
      <div className="cell-sub reach-reason">
        {reach.checked_at && <Ago at={reach.checked_at} />} {visibleLines(reach.reason)}
      </div>
    </>
  );
}

/** What runs there, of how many slots where it has a number of them, and what waits. */
function Load({ executor: one }: { executor: Executor }) {
  const { t } = useTranslation('executors');
  if (one.load === null) return <span className="muted">–</span>;
  const to = `/executions?${new URLSearchParams({ executor: one.address, status: 'pending' })}`;
  const { running = one.load, queued = 0, threads = 0, slots = null } = one.vitals ?? {};
  const shown = slots === null ? String(running) : t('instances.of', { running, slots });
  return (
    <>
      <Link to={to} aria-label={t('instances.loadOf', { shown, count: one.load, address: one.address })}>
        {shown}
      </Link>
      <div className="cell-sub">
        {[
          queued > 0 && t('instances.waiting', { count: queued }),
          threads > 0 && t('instances.threads', { count: threads }),
        ]
          .filter(Boolean)
          .join(' · ')}
      </div>
    </>
  );
}

/** Results it could not deliver, and handlers it could not end: both should be none. */
function Backlog({ executor: { vitals } }: { executor: Executor }) {
  const { t } = useTranslation('executors');
  if (!vitals) return <span className="muted">–</span>;
  const { unacknowledged, abandoned } = vitals;
  return (
    <>
      <span className={unacknowledged > 0 ? 'backlog status-orange' : 'muted'} title={t('instances.backlogTitle')}>
        {unacknowledged}
      </span>
      {abandoned > 0 && (
        <div className="cell-sub backlog status-red" title={t('instances.abandonedTitle')}>
          {t('instances.abandoned', { count: abandoned })}
        </div>
      )}
    </>
  );
}

function Version({ executor: one }: { executor: Executor }) {
  const { t } = useTranslation('executors');
  const labels = Object.entries(one.labels).map(([name, value]) => `${name}=${value}`);
  const python = one.vitals?.python && t('instances.python', { version: one.vitals.python });
  return (
    <>
      <div className="cell-sub">{[one.version ?? t('instances.foreign'), python].filter(Boolean).join(' · ')}</div>
      {labels.length > 0 && (
        <div className="tags">
          {labels.map((label) => (
            <Tag key={label}>{label}</Tag>
          ))}
        </div>
      )}
    </>
  );
}
