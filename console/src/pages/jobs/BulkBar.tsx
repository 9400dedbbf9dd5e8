import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { startJob, triggerJob } from '@/api/jobs';
import { type Permission, useMay } from '@/api/session';
import type { BoardRow } from '@/api/types';
import { Export } from '@/pages/jobs/Export';
import { definitionsOf, doToThese } from '@/pages/jobs/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import type { Act } from '@/parts/many';
import { type Together, useMany } from '@/parts/useMany';

type Deed = 'start' | 'stop' | 'run' | 'delete';

const ACTS: Record<Deed, { needs: Permission; act: Act | Together }> = {
  start: { needs: 'operate', act: startJob },
  // Of many, it is told which have nothing to stop.
  stop: { needs: 'operate', act: { together: (ids) => doToThese('stop', ids) } },
  run: { needs: 'operate', act: (id, key) => triggerJob(id, { key }) },
  // Together: one may need another, and all that are chosen go.
  delete: { needs: 'edit', act: { together: (ids) => doToThese('delete', ids) } },
};
const NAMED = 8;

interface Props {
  chosen: readonly BoardRow[];
  /** Leaves only these selected. */
  keep: (ids: number[]) => void;
  /** Chooses all that match the filters; null where all are chosen, or not all that are shown. */
  all: (() => void) | null;
}

/** What can be done to the chosen jobs. Each is named before, and each refusal afterwards. */
export function BulkBar({ chosen, keep, all }: Props) {
  const { t } = useTranslation('jobs');
  const may = useMay();
  const queries = useQueryClient();
  const many = useMany(keep);
  const jobs = chosen.map(({ job }) => ({ id: job.id, name: job.job_desc }));
  const allowed = (needs: Permission) => chosen.every(({ job }) => may(needs, job.job_group));

  async function go(act: Deed): Promise<string> {
    try {
      return t('bulk.done', { count: await many(jobs, ACTS[act].act) });
    } finally {
      void queries.invalidateQueries({ queryKey: ['executions'] });
    }
  }

  return (
    <section className="selection-bar" aria-label={t('bulk.label')}>
      <span aria-live="polite">{t('bulk.chosen', { count: chosen.length })}</span>
      {(Object.keys(ACTS) as Deed[])
        .filter((act) => allowed(ACTS[act].needs))
        .map((act) => (
          <ConfirmAction
            key={act}
            label={t(`bulk.${act}`)}
            title={t(`bulk.title.${act}`, { count: chosen.length })}
            confirm={t(`bulk.${act}`)}
            danger={act === 'delete'}
            button={{ size: 'small' }}
            act={() => go(act)}
          >
            <ul className="bulk-names">
              {jobs.slice(0, NAMED).map((job) => (
                <li key={job.id}>{job.name}</li>
              ))}
              {jobs.length > NAMED && <li className="muted">{t('bulk.more', { count: jobs.length - NAMED })}</li>}
            </ul>
          </ConfirmAction>
        ))}
      <Export definitions={() => definitionsOf(jobs.map(({ id }) => id))} />
      {all && (
        <Button size="small" type="link" onClick={all}>
          {t('bulk.all')}
        </Button>
      )}
      <Button size="small" type="link" onClick={() => keep([])}>
        {t('bulk.clear')}
      </Button>
    </section>
  );
}
