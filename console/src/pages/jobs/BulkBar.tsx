import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { startJob, stopJob, triggerJob } from '@/api/jobs';
import { type Permission, useMay } from '@/api/session';
import type { BoardRow } from '@/api/types';
import { Export } from '@/pages/jobs/Export';
import { Preview, Unchanged } from '@/pages/jobs/Preview';
import { type BulkDeed, definitionsOf, doToThese } from '@/pages/jobs/queries';
import { wouldChange } from '@/pages/jobs/selection';
import { ConfirmAction } from '@/parts/ConfirmAction';
import type { Act } from '@/parts/many';
import { type Together, useMany } from '@/parts/useMany';

const ACTS: Record<BulkDeed, { needs: Permission; text: 'start' | 'stop' | 'run' | 'delete'; act: Act | Together }> = {
  start: { needs: 'operate', text: 'start', act: startJob },
  stop: { needs: 'operate', text: 'stop', act: stopJob },
  trigger: { needs: 'operate', text: 'run', act: (id, key) => triggerJob(id, { key }) },
  // Together: one may need another, and all that are chosen go.
  delete: { needs: 'edit', text: 'delete', act: { together: (ids) => doToThese('delete', ids) } },
};

interface Props {
  chosen: readonly BoardRow[];
  /** Leaves only these selected. */
  keep: (ids: number[]) => void;
  /** Chooses all that match the filters; null where all are chosen, or not all that are shown. */
  all: (() => void) | null;
}

/** What can be done to the chosen jobs. Each refusal is told before, and afterwards. */
export function BulkBar({ chosen, keep, all }: Props) {
  const { t } = useTranslation('jobs');
  const may = useMay();
  const allowed = (needs: Permission) => chosen.every(({ job }) => may(needs, job.job_group));
  return (
    <section className="selection-bar" aria-label={t('bulk.label')}>
      <span aria-live="polite">{t('bulk.chosen', { count: chosen.length })}</span>
      {(Object.keys(ACTS) as BulkDeed[])
        .filter((deed) => allowed(ACTS[deed].needs))
        .map((deed) => (
          <BulkAction key={deed} deed={deed} chosen={chosen} keep={keep} />
        ))}
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

function BulkAction({ deed, chosen, keep }: Pick<Props, 'chosen' | 'keep'> & { deed: BulkDeed }) {
  const { t } = useTranslation('jobs');
  const queries = useQueryClient();
  const many = useMany(keep);
  const [opening, setOpening] = useState(0);
  const [tried, setTried] = useState('');
  const { text, act } = ACTS[deed];
  const rows = deed === 'start' || deed === 'stop' ? chosen.filter(({ job }) => wouldChange(deed, job)) : chosen;
  const ids = rows.map(({ job }) => job.id);
  const time = `${opening} ${ids.join()}`;

  async function go(): Promise<string> {
    const named = rows.map(({ job }) => ({ id: job.id, name: job.job_desc }));
    try {
      return t('bulk.done', { count: await many(named, act) });
    } finally {
      void queries.invalidateQueries({ queryKey: ['executions'] });
    }
  }

  return (
    <ConfirmAction
      label={t(`bulk.${text}`)}
      title={rows.length > 0 ? t(`bulk.title.${text}`, { count: rows.length }) : t(`bulk.${text}`)}
      confirm={t(`bulk.${text}`)}
      danger={deed === 'delete'}
      button={{ size: 'small' }}
      opened={() => setOpening(opening + 1)}
      ready={tried === time}
      act={go}
    >
      {rows.length === 0 ? (
        <Unchanged deed={deed} others={chosen.length} />
      ) : (
        <Preview deed={deed} asked={{ id: ids }} others={chosen.length - rows.length} time={time} done={setTried} />
      )}
    </ConfirmAction>
  );
}
