import { type UseQueryResult, useQuery, useQueryClient } from '@tanstack/react-query';
import { Progress } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { serverNow } from '@/api/serverClock';
import { allowsSomewhere, useSession } from '@/api/session';
import type { ManyDone } from '@/api/types';
import { doToAll, endOf, percent, type Sum } from '@/pages/executions/everything';
import { asQuery, bulkFor, type ExecutionFilters } from '@/pages/executions/filters';
import { type Bulk, doToMany } from '@/pages/executions/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { notUnderstood } from '@/parts/useUrlFilters';

/** The server counts no further. */
const COUNTED = 10_000;

/** What can be done to everything that matches the filters, counted before it is done. */
export function BulkActions({ filters }: { filters: ExecutionFilters }) {
  const session = useSession();
  const asked = asQuery(filters);
  if (notUnderstood(filters, asked).length > 0) return null; // it would be done to more than the address asks for
  if (Object.keys(filters).length === 0 || !session || !allowsSomewhere(session.rights, 'operate')) return null;
  const what = bulkFor(asked.status);
  return what && <BulkAction key={what} what={what} filters={filters} />;
}

/** Done by the server part by part; who closes the dialog stops it after the part that is under way. */
function BulkAction({ what, filters }: { what: Bulk; filters: ExecutionFilters }) {
  const { t } = useTranslation('executions');
  const queries = useQueryClient();
  const [sum, setSum] = useState<Sum | null>(null);
  const [busy, setBusy] = useState(false);
  const [open, setOpen] = useState(false);
  const stopped = useRef(false);
  const would = useQuery({
    queryKey: ['preview', 'executions', what, filters], // not told live: to look again is to try it again
    queryFn: () => doToMany(what, filters, { dryRun: true }),
    enabled: open && !busy,
    staleTime: 0,
    refetchOnWindowFocus: false,
  });
  const isNothing = would.data !== undefined && matchesNothing(would.data);

  async function go(): Promise<string> {
    stopped.current = false;
    setBusy(true);
    setSum(null);
    const those = { ...filters, until: endOf(filters.until, serverNow()) };
    try {
      const whole = await doToAll(
        (after) => doToMany(what, those, { after }),
        setSum,
        () => stopped.current,
      );
      setOpen(false);
      return said(whole);
    } finally {
      setBusy(false);
      void queries.invalidateQueries({ queryKey: ['executions'] });
    }
  }

  function said({ done, skipped, left, stopped: early }: Sum): string {
    if (early) return t('bulk.stopped', { count: done, left });
    return skipped > 0 ? t('bulk.partly', { count: done, skipped }) : t('bulk.done', { count: done });
  }

  return (
    <ConfirmAction
      label={t(`bulk.${what}`)}
      title={t(`bulk.${what}`)}
      confirm={t(`bulk.${what}`)}
      danger={what === 'kill'}
      opened={() => {
        setSum(null);
        setOpen(true);
      }}
      closed={() => {
        stopped.current = true;
        setOpen(false);
      }}
      ready={busy || sum !== null || !isNothing}
      act={go}
    >
      {busy || sum ? <HowFar sum={sum} /> : <Preview what={what} would={would} />}
    </ConfirmAction>
  );
}

/** What was looked at may hold nothing, and the rest something: then it says where to go on. */
function matchesNothing({ done, left, next_after }: ManyDone): boolean {
  return done + left === 0 && next_after === null;
}

function HowFar({ sum }: { sum: Sum | null }) {
  const { t } = useTranslation('executions');
  return (
    <>
      <Progress percent={sum ? percent(sum) : 0} aria-label={t('bulk.progress')} />
      <p aria-live="polite">{t('bulk.far', { count: sum?.done ?? 0, left: sum?.left ?? '…' })}</p>
    </>
  );
}

function Preview({ what, would }: { what: Bulk; would: UseQueryResult<ManyDone> }) {
  const { t } = useTranslation('executions');
  if (would.isPending || would.isFetching) return <p className="muted">{t('bulk.counting')}</p>;
  if (would.isError) return <ProblemNotice error={would.error} />;
  const { done: count, left, skipped, next_after } = would.data;
  if (matchesNothing(would.data)) return <p>{what === 'retry' ? t('bulk.noneToRetry') : t('bulk.noneToKill')}</p>;
  const isAll = left < COUNTED && (left > 0 || next_after === null);
  return (
    <>
      <p>{what === 'retry' ? t('bulk.wouldRetry', { count }) : t('bulk.wouldKill', { count })}</p>
      {skipped > 0 && <p>{t('bulk.wouldSkip', { count: skipped })}</p>}
      {left > 0 && <p>{t('bulk.untried', { count: left })}</p>}
      {!isAll && <p className="muted">{t('bulk.perhapsMore')}</p>}
    </>
  );
}
