import { useQueryClient } from '@tanstack/react-query';
import { App, Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import type { JobDeed } from '@/app/palette/entries';
import { doToJob } from '@/app/palette/queries';
import { ProblemNotice } from '@/parts/ProblemNotice';

/** What changes a job is named and confirmed; Enter confirms, for the button has the focus. */
export function Confirming({ deed, close, back }: { deed: JobDeed; close: () => void; back: () => void }) {
  const { t } = useTranslation(['palette', 'common']);
  const { message } = App.useApp();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const { what, job } = deed;

  async function go() {
    setBusy(true);
    setError(null);
    try {
      const execution = await doToJob(what, job.id);
      message.success(t(`done.${what}`, { name: job.name }));
      void queries.invalidateQueries({ queryKey: ['jobs'] });
      close();
      if (execution !== undefined) void navigate(`/executions/${execution}`);
    } catch (reason) {
      setError(reason);
      setBusy(false);
    }
  }

  return (
    <div className="palette-confirm">
      <h3>{t(`actions.${what}`, { name: job.name })}</h3>
      <p className="muted">{t(`confirm.${what}`)}</p>
      {error !== null && <ProblemNotice error={error} />}
      <div className="palette-confirm-buttons">
        <Button onClick={back}>{t('common:cancel')}</Button>
        <Button type="primary" danger={what === 'stop'} loading={busy} autoFocus onClick={() => void go()}>
          {t(`do.${what}`)}
        </Button>
      </div>
    </div>
  );
}
