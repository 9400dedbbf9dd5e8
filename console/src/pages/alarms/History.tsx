import { useInfiniteQuery } from '@tanstack/react-query';
import type { TableColumnsType } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { JobName } from '@/pages/alarms/Firing';
import { type Alarm, type AlarmState, historyQuery, MESSAGE_STATES, type MessageState } from '@/pages/alarms/queries';
import { ClearableSelect } from '@/parts/clearable';
import { EmptyState } from '@/parts/EmptyState';
import { JobChoice } from '@/parts/job/JobChoice';
import { visibleLines } from '@/parts/log/ansi';
import { Mark } from '@/parts/Mark';
import { NotUnderstood } from '@/parts/NotUnderstood';
import { DataTable } from '@/parts/table/DataTable';
import { Ago } from '@/parts/time/Ago';
import { Instant } from '@/parts/time/Instant';
import { notUnderstood, useUrlFilters } from '@/parts/useUrlFilters';
import { SavedViews } from '@/parts/views/SavedViews';
import type { StatusColours } from '@/theme/tokens';

const COLOURS: Record<AlarmState, keyof StatusColours> = {
  noted: 'gray',
  locked: 'gray',
  waiting: 'blue',
  sending: 'blue',
  told: 'green',
  failed: 'red',
};

const FILTERS = ['state', 'job_id'] as const;

/** Every message by every channel, newest first: what was told, what waits, and what could not be told. */
export function History() {
  const { t } = useTranslation('alarms');
  const [filters, change] = useUrlFilters(FILTERS);
  const state = MESSAGE_STATES.find((one) => one === filters.state);
  const jobId = /^[1-9]\d{0,9}$/.test(filters.job_id ?? '') ? Number(filters.job_id) : undefined;
  const strange = notUnderstood(filters, { state, job_id: jobId });
  const list = useInfiniteQuery({ ...historyQuery(state, jobId), enabled: strange.length === 0 });
  const columns: TableColumnsType<Alarm> = [
    {
      title: t('history.state'),
      key: 'state',
      render: (_, one) => <Mark colour={COLOURS[one.state]}>{t(`state.${one.state}`)}</Mark>,
    },
    { title: t('history.at'), key: 'at', className: 'nowrap', render: (_, one) => <Instant at={one.created_at} /> },
    { title: t('history.kind'), key: 'kind', render: (_, one) => t(`kind.${one.kind}`) },
    {
      title: t('job'),
      key: 'job',
      render: (_, one) => one.job_id !== null && <JobName id={one.job_id} name={one.job_desc} />,
    },
    {
      title: t('history.execution'),
      key: 'execution',
      render: (_, one) =>
        one.execution_id === null ? (
          <Link to="/executors">{t('history.executors')}</Link>
        ) : (
          <Link to={`/executions/${one.execution_id}`}>#{one.execution_id}</Link>
        ),
    },
    { title: t('history.channel'), key: 'channel', dataIndex: 'channel' },
    { title: t('history.attempts'), key: 'attempts', align: 'right', dataIndex: 'attempts' },
    { title: t('history.outcome'), key: 'outcome', className: 'flexing', render: (_, one) => <Outcome alarm={one} /> },
  ];
  const options = MESSAGE_STATES.map((one: MessageState) => ({ value: one, label: t(`state.${one}`) }));
  return (
    <>
      <div className="part-bar">
        <span className="alarm-choices">
          <JobChoice className="alarm-choice" value={jobId} onChange={(id) => change({ job_id: id?.toString() })} />
          <ClearableSelect
            className="alarm-choice"
            placeholder={t('history.anyState')}
            aria-label={t('history.anyState')}
            value={state ?? null}
            onChange={(chosen) => change({ state: chosen ?? undefined })}
            options={options}
          />
        </span>
        <SavedViews />
      </div>
      {strange.length > 0 ? (
        <NotUnderstood filters={filters} names={strange} change={change} />
      ) : (
        <DataTable<Alarm>
          label={t('tabs.history')}
          list={list}
          columns={columns}
          rowKey="id"
          empty={<EmptyState title={t('history.empty')}>{t('history.emptyHint')}</EmptyState>}
        />
      )}
    </>
  );
}

function Outcome({ alarm }: { alarm: Alarm }) {
  const { t } = useTranslation('alarms');
  return (
    <div className="flexing-cell">
      {alarm.error && <div className="alarm-error">{visibleLines(alarm.error)}</div>}
      {alarm.next_attempt && (
        <span className="muted">
          {t('history.next')} <Ago at={alarm.next_attempt} />
        </span>
      )}
    </div>
  );
}
