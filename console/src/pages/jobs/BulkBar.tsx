import { useQueryClient } from '@tanstack/react-query';
import { App, Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { deleteJob, startJob, stopJob, triggerJob } from '@/api/jobs';
import { Problem } from '@/api/problem';
import { type Permission, useMay } from '@/api/session';
import type { BoardRow } from '@/api/types';
import { doToEach } from '@/pages/jobs/many';
import { ConfirmAction } from '@/parts/ConfirmAction';

type Act = 'start' | 'stop' | 'run' | 'delete';

const ACTS: Record<Act, { needs: Permission; act: (id: number) => Promise<unknown> }> = {
  start: { needs: 'operate', act: startJob },
  stop: { needs: 'operate', act: stopJob },
  run: { needs: 'operate', act: (id) => triggerJob(id) },
  delete: { needs: 'edit', act: deleteJob },
};
const NAMED = 8;

interface Props {
  chosen: readonly BoardRow[];
  clear: () => void;
  /** Chooses all that match the filters; null where all are chosen, or not all that are shown. */
  all: (() => Promise<void>) | null;
}

/** What can be done to the chosen jobs. Each is named before, and each refusal afterwards. */
export function BulkBar({ chosen, clear, all }: Props) {
  const { t } = useTranslation('jobs');
  const may = useMay();
  const queries = useQueryClient();
  const jobs = chosen.map(({ job }) => ({ id: job.id, name: job.job_desc }));
  const allowed = (needs: Permission) => chosen.every(({ job }) => may(needs, job.job_group));

  async function go(act: Act): Promise<string> {
    const { done, refused } = await doToEach(jobs, ACTS[act].act);
    await queries.invalidateQueries({ queryKey: ['executions'] });
    if (refused.length > 0) {
      const detail = t('bulk.partly', { done, count: refused.length });
      const hint = refused.map(({ name, reason }) => `${name}: ${reason}`).join('\n');
      throw new Problem({ type: 'urn:orth:problem:conflict', title: detail, status: 409, detail, hint });
    }
    clear();
    return t('bulk.done', { count: done });
  }

  return (
    <section className="bulk-bar" aria-label={t('bulk.label')}>
      <span aria-live="polite">{t('bulk.chosen', { count: chosen.length })}</span>
      {(Object.keys(ACTS) as Act[])
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
      {all && <ChooseAll all={all} />}
      <Button size="small" type="link" onClick={clear}>
        {t('bulk.clear')}
      </Button>
    </section>
  );
}

function ChooseAll({ all }: { all: () => Promise<void> }) {
  const { t } = useTranslation('jobs');
  const { message } = App.useApp();
  const [busy, setBusy] = useState(false);
  async function choose() {
    setBusy(true);
    try {
      await all();
    } catch (error) {
      message.error(error instanceof Problem ? error.message : t('bulk.notCounted'));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Button size="small" type="link" loading={busy} onClick={choose}>
      {t('bulk.all')}
    </Button>
  );
}
