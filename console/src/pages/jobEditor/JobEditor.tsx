import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link, useParams, useSearchParams } from 'react-router';
import { api, got } from '@/api/client';
import { groupsQuery } from '@/api/groups';
import { readJob } from '@/api/jobs';
import { isGone } from '@/api/problem';
import { useMay } from '@/api/session';
import type { JobChange } from '@/api/types';
import { EditorForm } from '@/pages/jobEditor/EditorForm';
import { EDITED } from '@/pages/jobEditor/saving';
import { EmptyState } from '@/parts/EmptyState';
import { asBefore } from '@/parts/job/changes';
import { type Draft, defaults, draftOf } from '@/parts/job/draft';
import { MissingJob } from '@/parts/job/MissingJob';
import { ProblemNotice } from '@/parts/ProblemNotice';

const ID = /^[1-9]\d{0,9}$/;

/** A new job, a copy of one, one that is changed, or one that becomes what it was. */
export function JobEditor() {
  const { id } = useParams();
  const [params] = useSearchParams();
  const before = params.get('before') ?? '';
  if (id !== undefined && ID.test(id)) {
    return ID.test(before) ? (
      <Restored key={id} id={Number(id)} seq={Number(before)} />
    ) : (
      <Stored key={id} id={Number(id)} />
    );
  }
  if (id !== undefined) return <MissingJob />;
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

const historyPage = (id: number, cursor: string | null) =>
  got(
    api.GET('/api/v1/jobs/{job_id}/history', {
      params: { path: { job_id: id }, query: { limit: 200, ...(cursor && { cursor }) } },
    }),
  );

/** The changes of a job, the newest first, as far back as one of them. */
async function changesSince(id: number, seq: number): Promise<JobChange[]> {
  const found: JobChange[] = [];
  let cursor: string | null = null;
  do {
    const page = await historyPage(id, cursor);
    found.push(...page.items);
    cursor = page.next_cursor;
  } while (cursor && (found.at(-1)?.seq ?? 0) > seq);
  return found;
}

function Restored({ id, seq }: { id: number; seq: number }) {
  const changes = useQuery({
    queryKey: [...EDITED, id, 'before', seq],
    queryFn: () => changesSince(id, seq),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 1_000,
  });
  if (changes.isPending) return <Skeleton active />;
  if (!changes.data) return <ProblemNotice error={changes.error} retry={() => void changes.refetch()} />;
  const { data } = changes;
  return <Stored id={id} begin={(draft) => asBefore(draft, data, seq)} />;
}

interface StoredProps {
  id: number;
  copy?: boolean;
  /** What the form begins with. */
  begin?: (draft: Draft) => Draft;
}

function Stored({ id, copy = false, begin }: StoredProps) {
  const { t } = useTranslation('jobEditor');
  const may = useMay();
  const read = useOnce(id);
  const groups = useQuery(groupsQuery);
  if (read.isPending || groups.isPending) return <Skeleton active />;
  if (isGone(read.error)) return <MissingJob />;
  if (!read.data) return <ProblemNotice error={read.error} retry={() => void read.refetch()} />;
  const { job, tag } = read.data;
  if (!may('edit', job.job_group)) return <NotAllowed />;
  const draft = draftOf(job);
  if (!copy) return <EditorForm edited={{ id, base: draft, tag, ...(begin && { begun: begin(draft) }) }} />;
  const begun = {
    ...draft,
    job_desc: t('copyOf', { job: job.job_desc, interpolation: { escapeValue: false } }),
    glue_source: job.glue_source,
  };
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
    <EmptyState page title={t('notAllowed.title')} action={<Link to="/jobs">{t('notAllowed.back')}</Link>}>
      {t('notAllowed.hint')}
    </EmptyState>
  );
}
