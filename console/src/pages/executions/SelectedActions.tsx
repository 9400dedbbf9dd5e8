import { useQueryClient } from '@tanstack/react-query';
import { Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { killOne, retryOnce } from '@/api/executions';
import { useMay } from '@/api/session';
import type { Execution } from '@/api/types';
import { ConfirmAction } from '@/parts/ConfirmAction';
import type { Act } from '@/parts/many';
import { useMany } from '@/parts/useMany';
import { canRetry } from '@/status/again';
import { TERMINAL } from '@/status/statuses';

interface Props {
  selected: readonly Execution[];
  /** Leaves only these selected. */
  keep: (ids: number[]) => void;
}

/** What can be done to what was selected: what has ended is run again if its job is still there, what is open is ended. */
export function SelectedActions({ selected, keep }: Props) {
  const { t } = useTranslation('executions');
  const may = useMay();
  const queries = useQueryClient();
  const many = useMany(keep);
  if (selected.length === 0) return null;
  const own = selected.filter((one) => may('operate', one.job_group));
  const ended = own.filter(canRetry);
  const open = own.filter((one) => !TERMINAL[one.status]);

  async function each(executions: Execution[], act: Act): Promise<string> {
    const named = executions.map((one) => ({ id: one.id, name: `#${one.id} ${one.job_desc ?? t('removedJob')}` }));
    try {
      return t('bulk.done', { count: await many(named, act) });
    } finally {
      void queries.invalidateQueries({ queryKey: ['executions'] });
    }
  }

  return (
    <div className="selection-bar" role="toolbar" aria-label={t('selected.label')}>
      <strong aria-live="polite">{t('selected.count', { count: selected.length })}</strong>
      {ended.length > 0 && (
        <ConfirmAction
          label={t('retry.label')}
          title={t('retry.label')}
          confirm={t('retry.label')}
          button={{ size: 'small' }}
          act={() => each(ended, retryOnce)}
        >
          <p>{t('selected.retry', { count: ended.length })}</p>
        </ConfirmAction>
      )}
      {open.length > 0 && (
        <ConfirmAction
          label={t('kill.label')}
          title={t('kill.label')}
          confirm={t('kill.label')}
          danger
          button={{ size: 'small' }}
          act={() => each(open, killOne)}
        >
          <p>{t('bulk.wouldKill', { count: open.length })}</p>
        </ConfirmAction>
      )}
      <Button size="small" type="link" onClick={() => keep([])}>
        {t('selected.clear')}
      </Button>
    </div>
  );
}
