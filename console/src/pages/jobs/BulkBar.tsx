import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { startJob, stopJob, triggerJob } from '@/api/jobs';
import { type Permission, useMay } from '@/api/session';
import type { BoardRow } from '@/api/types';
import { Export } from '@/pages/jobs/Export';
import { JobNames, Skipped } from '@/pages/jobs/JobNames';
import { definitionsOf, doToThese } from '@/pages/jobs/queries';
import { wouldChange } from '@/pages/jobs/selection';
import { ConfirmAction } from '@/parts/ConfirmAction';
import type { Act } from '@/parts/many';
import { type Together, useMany } from '@/parts/useMany';

type Deed = 'start' | 'stop' | 'run' | 'delete';

const ACTS: Record<Deed, { needs: Permission; act: Act | Together }> = {
  start: { needs: 'operate', act: startJob },
  stop: { needs: 'operate', act: stopJob },
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
  const named = (rows: readonly BoardRow[]) => rows.map(({ job }) => ({ id: job.id, name: job.job_desc }));
  const allowed = (needs: Permission) => chosen.every(({ job }) => may(needs, job.job_group));

  async function go(act: Deed, rows: readonly BoardRow[]): Promise<string> {
    try {
      return t('bulk.done', { count: await many(named(rows), ACTS[act].act) });
    } finally {
      void queries.invalidateQueries({ queryKey: ['executions'] });
    }
  }

  return (
    <section className="selection-bar" aria-label={t('bulk.label')}>
      <span aria-live="polite">{t('bulk.chosen', { count: chosen.length })}</span>
      {(Object.keys(ACTS) as Deed[])
        .filter((act) => allowed(ACTS[act].needs))
        .map((act) => {
          const rows = act === 'start' || act === 'stop' ? chosen.filter(({ job }) => wouldChange(act, job)) : chosen;
          const skipped = chosen.length - rows.length;
          return (
            <ConfirmAction
              key={act}
              label={t(`bulk.${act}`)}
              title={rows.length > 0 ? t(`bulk.title.${act}`, { count: rows.length }) : t(`bulk.${act}`)}
              confirm={t(`bulk.${act}`)}
              danger={act === 'delete'}
              button={{ size: 'small' }}
              ready={rows.length > 0}
              act={() => go(act, rows)}
            >
              {rows.length === 0 && <p>{t('bulk.wouldNot')}</p>}
              <JobNames
                names={named(rows.slice(0, NAMED)).map(({ name }) => name)}
                more={Math.max(0, rows.length - NAMED)}
              />
              {skipped > 0 && (act === 'start' || act === 'stop') && <Skipped deed={act} count={skipped} />}
            </ConfirmAction>
          );
        })}
      <Export definitions={() => definitionsOf(chosen.map(({ job }) => job.id))} />
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
