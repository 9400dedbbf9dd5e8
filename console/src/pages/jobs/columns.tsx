import { EditOutlined } from '@ant-design/icons';
import { Button, type TableColumnsType, Tag, Tooltip } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useNavigate } from 'react-router';
import { type Groups, useGroups } from '@/api/groups';
import type { BoardRow, Job } from '@/api/types';
import { JobTags } from '@/parts/job/JobTags';
import { NextFire } from '@/parts/job/NextFire';
import { RunBars } from '@/parts/job/RunBars';
import { RunOnce } from '@/parts/job/RunOnce';
import { ScheduleText } from '@/parts/job/ScheduleText';
import { StartSwitch } from '@/parts/job/StartSwitch';
import { PermissionGate } from '@/parts/PermissionGate';
import { YIELDING } from '@/parts/table/flexing';
import { Ago } from '@/parts/time/Ago';
import { RanFor } from '@/parts/time/Duration';
import { RunStatusTag } from '@/status/StatusTag';

/** The job of a row, unless a newer version wrote what this one cannot read. */
export function readable(row: BoardRow): Job | null {
  return 'unreadable' in row.job ? null : row.job;
}

/** What people ask of a job at a glance: when, how it went, who could run it, whether it is on. */
export function useColumns(): TableColumnsType<BoardRow> {
  const { t } = useTranslation('jobs');
  const groups = useGroups();
  return useMemo(
    () => [
      {
        title: t('columns.name'),
        key: 'name',
        className: 'flexing',
        render: (_, row) => <NameCell row={row} groups={groups} />,
      },
      {
        title: t('columns.schedule'),
        key: 'schedule',
        className: 'flexing-less',
        render: (_, row) => <ScheduleCell row={row} />,
      },
      {
        title: <span className="head-of-lines">{t('columns.next')}</span>,
        key: 'next',
        className: 'nowrap',
        render: (_, { job }) => <NextFire at={job.trigger_status === 1 ? job.trigger_next_time : null} />,
      },
      { title: t('columns.last'), key: 'last', className: 'nowrap', render: (_, row) => <LastCell row={row} /> },
      {
        title: t('columns.runs'),
        key: 'runs',
        responsive: YIELDING,
        render: (_, row) => <RunsCell row={row} />,
      },
      {
        title: t('columns.executors'),
        key: 'executors',
        responsive: YIELDING,
        render: (_, row) => <ExecutorsCell row={row} />,
      },
      { title: t('columns.on'), key: 'on', fixed: 'end', render: (_, { job }) => <StartSwitch job={job} /> },
      {
        title: <span className="visually-hidden">{t('columns.actions')}</span>,
        key: 'actions',
        align: 'right',
        fixed: 'end',
        render: (_, row) => <ActionsCell row={row} />,
      },
    ],
    [t, groups],
  );
}

function NameCell({ row, groups }: { row: BoardRow; groups: Groups }) {
  const { t } = useTranslation('jobs');
  const { job } = row;
  const { author, tags } = readable(row) ?? { author: '', tags: [] };
  return (
    <div className="flexing-cell">
      <Link to={`/jobs/${job.id}`} className="cell-main cell-name" title={job.job_desc} data-open>
        {job.job_desc}
      </Link>
      {'unreadable' in job && (
        <Tooltip title={job.unreadable}>
          <Tag color="error">{t('unreadable')}</Tag>
        </Tooltip>
      )}
      <div className="cell-sub cell-line" title={groups.name(job.job_group)}>
        {groups.name(job.job_group)}
        {job.executor_handler && (
          <>
            {' · '}
            <span className="mono">{job.executor_handler}</span>
          </>
        )}
        {author && ` · ${author}`}
      </div>
      <JobTags tags={tags} />
    </div>
  );
}

function ScheduleCell({ row }: { row: BoardRow }) {
  const job = readable(row);
  return (
    <div className="flexing-cell">
      {job ? <ScheduleText schedule={job} /> : <span className="mono">{row.job.schedule_conf}</span>}
    </div>
  );
}

function LastCell({ row }: { row: BoardRow }) {
  const { t } = useTranslation('jobs');
  const { last } = row;
  if (!last) return <span className="muted">{t('neverRan')}</span>;
  return (
    <>
      <RunStatusTag run={last} />
      <div className="cell-sub">
        <Ago at={last.handle_time ?? last.trigger_time} />
      </div>
    </>
  );
}

/** How long the last one took, beside the bars of those before it. */
function RunsCell({ row }: { row: BoardRow }) {
  const ran = row.runs.find((run) => run.start_time !== null);
  if (row.runs.length === 0) return <span className="muted">–</span>;
  return (
    <span className="runs-cell">
      <RunBars runs={row.runs} />
      {ran && <RanFor run={ran} />}
    </span>
  );
}

function ExecutorsCell({ row }: { row: BoardRow }) {
  const { t } = useTranslation('jobs');
  const { alive, total } = row.executors;
  const tone = alive === 0 ? 'status-red' : alive < total ? 'status-orange' : '';
  return (
    <span className={`executors-cell ${tone}`} title={t('executorsTitle', { alive, total })}>
      {alive}/{total}
    </span>
  );
}

function ActionsCell({ row }: { row: BoardRow }) {
  const { t } = useTranslation('jobs');
  const navigate = useNavigate();
  const job = readable(row);
  if (!job) return null;
  return (
    <span className="row-actions">
      <RunOnce job={job} short button={{ type: 'text', size: 'small' }} />
      <PermissionGate needs="edit" group={job.job_group}>
        <Button
          type="text"
          size="small"
          icon={<EditOutlined />}
          aria-label={t('editNamed', { job: job.job_desc })}
          title={t('edit')}
          onClick={() => void navigate(`/jobs/${job.id}/edit`)}
        />
      </PermissionGate>
    </span>
  );
}
