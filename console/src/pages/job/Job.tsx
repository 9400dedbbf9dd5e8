import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { useParams } from 'react-router';
import { useGroups } from '@/api/groups';
import { jobQuery } from '@/api/jobs';
import { isGone } from '@/api/problem';
import type { Job as JobShown } from '@/api/types';
import { Definition } from '@/pages/job/Definition';
import { History } from '@/pages/job/History';
import { JobActions } from '@/pages/job/JobActions';
import { JobAlarms } from '@/pages/job/JobAlarms';
import { NextFires } from '@/pages/job/NextFires';
import { Recent } from '@/pages/job/Recent';
import { Statistics } from '@/pages/job/Statistics';
import { Badge } from '@/parts/Badge';
import { JobTags } from '@/parts/job/JobTags';
import { MissingJob } from '@/parts/job/MissingJob';
import { Page } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './job-page.css';

/** One job: what it is, how it went, when it fires next, and what can be done with it. */
export function Job() {
  const { id = '' } = useParams();
  return /^[1-9]\d{0,9}$/.test(id) ? <Known key={id} id={Number(id)} /> : <MissingJob />;
}

function Known({ id }: { id: number }) {
  const job = useQuery(jobQuery(id));
  if (job.isPending) return <Skeleton active />;
  if (isGone(job.error)) return <MissingJob />;
  if (!job.data) return <ProblemNotice error={job.error} retry={() => void job.refetch()} />;
  return <Shown job={job.data} />;
}

function Shown({ job }: { job: JobShown }) {
  const { t } = useTranslation('jobs');
  const groups = useGroups();
  return (
    <Page
      title={job.job_desc}
      intro={
        <>
          <StateTag job={job} /> {groups.name(job.job_group)} · {t('number', { id: job.id })}
          {job.executor_handler && (
            <>
              {' · '}
              <span className="mono">{job.executor_handler}</span>
            </>
          )}
          {job.author && ` · ${job.author}`} <JobTags tags={job.tags} />
        </>
      }
      actions={<JobActions job={job} />}
    >
      <div className="job-columns">
        <div className="job-main">
          <Statistics jobId={job.id} />
          <Recent job={job} />
          <History job={job} />
        </div>
        <div className="job-side">
          <NextFires job={job} />
          <Definition job={job} />
          <JobAlarms jobId={job.id} />
        </div>
      </div>
    </Page>
  );
}

function StateTag({ job }: { job: JobShown }) {
  const { t } = useTranslation('jobs');
  if (job.trigger_status === 1) return <Badge look={{ colour: 'green', icon: '●' }}>{t('started')}</Badge>;
  const word = job.schedule_type === 'NONE' ? t('byHand') : t('stopped');
  return <Badge look={{ colour: 'gray', icon: '○' }}>{word}</Badge>;
}
