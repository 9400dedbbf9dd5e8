import { useQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { type BulkDeed, type BulkQuery, wouldDo } from '@/pages/jobs/queries';
import { ProblemNotice, useKnownProblems } from '@/parts/ProblemNotice';

/** Jobs that are named before something is done to them, and refusals that are told in full. */
const NAMED = 8;

interface Props {
  deed: BulkDeed;
  asked: BulkQuery;
  /** Other jobs of those chosen that the deed would not change. */
  others?: number;
  /** Another one each time the dialog opens, and for other jobs: what was tried before may be wrong by now. */
  time: string;
  /** Told of the time at which there was something to do. */
  done: (time: string) => void;
}

/** What would come of doing something to many jobs. The server has tried it where one may do it, and undone it. */
export function Preview({ deed, asked, others = 0, time, done }: Props) {
  const { t } = useTranslation('jobs');
  const would = useQuery({
    // Not told live: to look again is to try it again.
    queryKey: ['preview', 'jobs', deed, asked, time],
    queryFn: ({ signal }) => wouldDo(deed, asked, signal),
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  const count = would.data ? would.data.jobs.length : 0;
  const isSomething = count + (would.data?.left ?? 0) > 0;
  useEffect(() => {
    if (isSomething) done(time);
  }, [isSomething, time, done]);
  if (would.isPending) return <p className="muted">{t('bulk.counting')}</p>;
  if (would.isError) return <ProblemNotice error={would.error} />;
  const { jobs, refused, left, skipped } = would.data;
  return (
    <>
      {isSomething && <p>{t('bulk.would', { count })}</p>}
      {count > 0 && <Listed lines={jobs.map((job) => job.job_desc)} />}
      {left > 0 && <p>{t('bulk.untried', { count: left })}</p>}
      {refused.length > 0 && <Refused refused={refused} />}
      <Unchanged deed={deed} others={skipped + others} isAll={!isSomething} />
    </>
  );
}

/** How many jobs would stay as they are. */
export function Unchanged({ deed, others, isAll = true }: { deed: BulkDeed; others: number; isAll?: boolean }) {
  const { t } = useTranslation('jobs');
  return (
    <>
      {isAll && <p>{t('bulk.wouldNot')}</p>}
      {others > 0 && (deed === 'start' || deed === 'stop') && (
        <p className="muted">{t(`bulk.skipped.${deed}`, { count: others })}</p>
      )}
    </>
  );
}

function Refused({ refused }: { refused: { job_desc: string; detail: string; code: string | null; facts: Facts }[] }) {
  const { t } = useTranslation('jobs');
  const known = useKnownProblems();
  return (
    <>
      <p>{t('bulk.refused', { count: refused.length })}</p>
      <Listed lines={refused.map((one) => `${one.job_desc}: ${known(one.code, one.facts).is ?? one.detail}`)} />
    </>
  );
}

type Facts = Record<string, string | number> | null;

/** The first lines, and how many more there are. */
function Listed({ lines }: { lines: readonly string[] }) {
  const { t } = useTranslation('jobs');
  const more = lines.length - NAMED;
  return (
    <ul className="bulk-names">
      {lines.slice(0, NAMED).map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two jobs may have one name, and the list never changes
        <li key={`${index} ${line}`}>{line}</li>
      ))}
      {more > 0 && <li className="muted">{t('bulk.more', { count: more })}</li>}
    </ul>
  );
}
