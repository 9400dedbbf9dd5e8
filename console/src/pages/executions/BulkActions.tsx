import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { allowsSomewhere, useSession } from '@/api/session';
import { asQuery, type ExecutionFilters } from '@/pages/executions/filters';
import { type Bulk, doToMany } from '@/pages/executions/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { notUnderstood } from '@/parts/useUrlFilters';

/** What can be done to everything that matches the filters, counted before it is done. */
export function BulkActions({ filters }: { filters: ExecutionFilters }) {
  const { t } = useTranslation('executions');
  const session = useSession();
  const queries = useQueryClient();
  const asked = asQuery(filters);
  const { status } = asked;
  if (notUnderstood(filters, asked).length > 0) return null; // it would be done to more than the address asks for
  if (Object.keys(filters).length === 0 || !session || !allowsSomewhere(session.rights, 'operate')) return null;
  const open = status === 'init' || status === 'pending';
  if (status === 'success') return null;
  const what: Bulk = open ? 'kill' : 'retry';
  const label = open ? t('bulk.kill') : t('bulk.retry');
  return (
    <ConfirmAction
      label={label}
      title={label}
      confirm={label}
      danger={open}
      act={async () => {
        const done = await doToMany(what, filters, false);
        await queries.invalidateQueries({ queryKey: ['executions'] });
        return t('bulk.done', { count: done.done });
      }}
    >
      <Preview what={what} filters={filters} />
    </ConfirmAction>
  );
}

function Preview({ what, filters }: { what: Bulk; filters: ExecutionFilters }) {
  const { t } = useTranslation('executions');
  const would = useQuery({
    queryKey: ['executions', 'bulk', what, filters],
    queryFn: () => doToMany(what, filters, true),
    gcTime: 0,
  });
  if (would.isPending) return <p className="muted">{t('bulk.counting')}</p>;
  if (would.isError) return <ProblemNotice error={would.error} />;
  const { done, left } = would.data;
  return (
    <>
      <p>{what === 'retry' ? t('bulk.wouldRetry', { count: done }) : t('bulk.wouldKill', { count: done })}</p>
      {left > 0 && <p className="muted">{t('bulk.left', { count: left })}</p>}
    </>
  );
}
