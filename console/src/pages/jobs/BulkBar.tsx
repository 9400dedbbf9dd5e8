import { useQueryClient } from '@tanstack/react-query';
import { App, Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { deleteJob, readJob, startJob, stopJob, triggerJob } from '@/api/jobs';
import { Problem } from '@/api/problem';
import { type Permission, useMay } from '@/api/session';
import type { BoardRow } from '@/api/types';
import { exported } from '@/pages/jobs/exporting';
import { ConfirmAction } from '@/parts/ConfirmAction';
import type { Act } from '@/parts/many';
import { saveText } from '@/parts/saveText';
import { useMany } from '@/parts/useMany';

type Deed = 'start' | 'stop' | 'run' | 'delete';

const ACTS: Record<Deed, { needs: Permission; act: Act }> = {
  start: { needs: 'operate', act: startJob },
  stop: { needs: 'operate', act: stopJob },
  run: { needs: 'operate', act: (id, key) => triggerJob(id, { key }) },
  delete: { needs: 'edit', act: deleteJob },
};
const NAMED = 8;

interface Props {
  chosen: readonly BoardRow[];
  /** Leaves only these selected. */
  keep: (ids: number[]) => void;
  /** Chooses all that match the filters; null where all are chosen, or not all that are shown. */
  all: (() => Promise<void>) | null;
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
    <section className="bulk-bar" aria-label={t('bulk.label')}>
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
      <Export chosen={chosen} />
      {all && <ChooseAll all={all} />}
      <Button size="small" type="link" onClick={() => keep([])}>
        {t('bulk.clear')}
      </Button>
    </section>
  );
}

/** The definitions as a file, code included: to keep, to compare, or for the API of another place. */
function Export({ chosen }: { chosen: readonly BoardRow[] }) {
  const { t } = useTranslation('jobs');
  const [busy, save] = useAsking(async () => {
    const jobs = [];
    for (const { job } of chosen) jobs.push((await readJob(job.id)).job);
    saveText('orth-jobs.json', exported(jobs));
  });
  return (
    <Button size="small" loading={busy} onClick={save}>
      {t('bulk.export')}
    </Button>
  );
}

function ChooseAll({ all }: { all: () => Promise<void> }) {
  const { t } = useTranslation('jobs');
  const [busy, choose] = useAsking(all);
  return (
    <Button size="small" type="link" loading={busy} onClick={choose}>
      {t('bulk.all')}
    </Button>
  );
}

/** Whether something that is asked for is under way, and what begins it; a refusal is told. */
function useAsking(ask: () => Promise<void>): [boolean, () => Promise<void>] {
  const { t } = useTranslation('jobs');
  const { message } = App.useApp();
  const [busy, setBusy] = useState(false);
  async function begin() {
    setBusy(true);
    try {
      await ask();
    } catch (error) {
      message.error(error instanceof Problem ? error.message : t('bulk.notCounted'));
    } finally {
      setBusy(false);
    }
  }
  return [busy, begin];
}
