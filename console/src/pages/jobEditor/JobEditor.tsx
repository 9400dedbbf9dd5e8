import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { groupsQuery } from '@/api/groups';
import { readJob } from '@/api/jobs';
import { Problem } from '@/api/problem';
import { useMay } from '@/api/session';
import { EditorForm } from '@/pages/jobEditor/EditorForm';
import { EDITED } from '@/pages/jobEditor/saving';
import { EmptyState } from '@/parts/EmptyState';
import { defaults, draftOf } from '@/parts/job/draft';
import { MissingJob } from '@/parts/job/MissingJob';
import { ProblemNotice } from '@/parts/ProblemNotice';

const ID = /^[1-9]\d{0,9}$/;

/** A new job, a copy of one, or one that is changed. */
export function JobEditor() {
  const { id } = useParams();
  const [params] = useSearchParams();
  if (id !== undefined) return ID.test(id) ? <Stored key={id} id={Number(id)} /> : <MissingJob />;
  const copy = params.get('copy') ?? '';
  return ID.test(copy) ? <Stored key={copy} id={Number(copy)} copy /> : <New />;
}

/** Read once: nothing changes under somebody's hands. What others save meanwhile is told when one saves. */
function useOnce(id: number) {
  return useQuery({
    queryKey: [...EDITED, id],
    queryFn: () => readJob(id),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 1_000,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
}

function Stored({ id, copy = false }: { id: number; copy?: boolean }) {
  const { t } = useTranslation('jobEditor');
  const may = useMay();
  const read = useOnce(id);
  const groups = useQuery(groupsQuery);
  if (read.isPending || groups.isPending) return <Skeleton active />;
  if (!read.data) {
    const gone = read.error instanceof Problem && read.error.status === 404;
    return gone ? <MissingJob /> : <ProblemNotice error={read.error} retry={() => void read.refetch()} />;
  }
  const { job, tag } = read.data;
  if (!may('edit', job.job_group)) return <NotAllowed />;
  const draft = draftOf(job);
  if (!copy) return <EditorForm edited={{ id, base: draft, tag }} />;
  const begun = { ...draft, job_desc: t('copyOf', { job: job.job_desc }), glue_source: job.glue_source };
  return <EditorForm edited={{ id: undefined, base: begun, tag: '' }} />;
}

function New() {
  const may = useMay();
  const groups = useQuery(groupsQuery);
  if (groups.isPending) return <Skeleton active />;
  // What was read stays good enough: a form that is begun is not taken away because nobody answers for a while.
  if (!groups.data) return <ProblemNotice error={groups.error} retry={() => void groups.refetch()} />;
  const editable = groups.data.items.filter((one) => may('edit', one.id));
  const only = editable[0];
  if (!only) return <NotAllowed />;
  const base = { ...defaults(only.id), schedule_type: 'CRON' as const, schedule_conf: '0 0 2 * * ?' };
  return <EditorForm edited={{ id: undefined, base, tag: '' }} />;
}

function NotAllowed() {
  const { t } = useTranslation('jobEditor');
  return (
    <EmptyState title={t('notAllowed.title')} action={<Link to="/jobs">{t('notAllowed.back')}</Link>}>
      {t('notAllowed.hint')}
    </EmptyState>
  );
}
