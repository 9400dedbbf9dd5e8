import { useQueryClient } from '@tanstack/react-query';
import { Button, Progress } from 'antd';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import { allowsSomewhere, type Permission, useSession } from '@/api/session';
import { Export } from '@/pages/jobs/Export';
import { doToAll, percent, type Sum } from '@/pages/jobs/everything';
import type { JobFilters } from '@/pages/jobs/filters';
import { Preview } from '@/pages/jobs/Preview';
import { type BulkDeed, definitionsOf, doToMatching, everything } from '@/pages/jobs/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { useKnownProblems } from '@/parts/ProblemNotice';

const NEEDS: Record<BulkDeed, Permission> = { start: 'operate', stop: 'operate', trigger: 'operate', delete: 'edit' };
const TEXT = { start: 'start', stop: 'stop', trigger: 'run', delete: 'delete' } as const;
const REFUSALS = 20;

interface Props {
  filters: JobFilters;
  clear: () => void;
}

/** What can be done to everything that matches the filters, shown or not: the server does it, part by part. */
export function EverythingBar({ filters, clear }: Props) {
  const { t } = useTranslation('jobs');
  const session = useSession();
  const may = (needs: Permission) => !!session && allowsSomewhere(session.rights, needs);
  return (
    <section className="selection-bar" aria-label={t('bulk.label')}>
      <span aria-live="polite">{t('bulk.everything')}</span>
      {(Object.keys(NEEDS) as BulkDeed[])
        .filter((deed) => may(NEEDS[deed]))
        .map((deed) => (
          <EverythingAction key={deed} deed={deed} filters={filters} done={clear} />
        ))}
      <Export definitions={() => definitionsOf(filters)} />
      <Button size="small" type="link" onClick={clear}>
        {t('bulk.clear')}
      </Button>
    </section>
  );
}

function EverythingAction({ deed, filters, done }: { deed: BulkDeed; filters: JobFilters; done: () => void }) {
  const { t } = useTranslation('jobs');
  const queries = useQueryClient();
  const known = useKnownProblems();
  const [sum, setSum] = useState<Sum | null>(null);
  const [opening, setOpening] = useState(0);
  const [tried, setTried] = useState(''); // at which opening: what was tried before may be wrong by now
  const key = useRef<string | null>(null); // kept until all of it has an answer: what ran before does not run again

  async function go(): Promise<string> {
    key.current ??= crypto.getRandomValues(new Uint32Array(4)).join('-');
    const asked = deed === 'trigger' ? { key: key.current } : {};
    setSum(null);
    try {
      const whole = await doToAll((cursor) => doToMatching(deed, filters, { ...asked, cursor }), setSum);
      key.current = null;
      if (whole.refused.length > 0) throw refusalOf(whole);
      done();
      return t('bulk.done', { count: whole.done });
    } finally {
      void queries.invalidateQueries({ queryKey: ['executions'] });
    }
  }

  function refusalOf({ done: count, refused }: Sum): Problem {
    const detail = t('bulk.partly', { done: count, refused: refused.length });
    const lines = refused
      .slice(0, REFUSALS)
      .map((one) => `${one.job_desc}: ${known(one.code, one.facts).is ?? one.detail}`);
    if (refused.length > REFUSALS) lines.push(t('bulk.more', { count: refused.length - REFUSALS }));
    return new Problem({
      type: 'urn:orth:problem:conflict',
      title: detail,
      status: 409,
      detail,
      hint: lines.join('\n'),
    });
  }

  return (
    <ConfirmAction
      label={t(`bulk.${TEXT[deed]}`)}
      title={t(`bulk.everythingTitle.${TEXT[deed]}`)}
      confirm={t(`bulk.${TEXT[deed]}`)}
      danger={deed === 'delete'}
      button={{ size: 'small' }}
      opened={() => {
        setSum(null);
        setOpening(opening + 1);
      }}
      ready={tried === String(opening)}
      act={go}
    >
      {sum ? (
        <Progress percent={percent(sum)} aria-label={t('bulk.progress')} />
      ) : (
        <Preview deed={deed} asked={everything(filters)} time={String(opening)} done={setTried} />
      )}
    </ConfirmAction>
  );
}
