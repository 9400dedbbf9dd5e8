import { Table, type TableColumnsType } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Taken, TakenOne } from '@/api/types';
import { Badge, type BadgeLook } from '@/parts/Badge';
import { ChangesTable } from '@/parts/job/ChangesTable';
import { DRAFT_FIELDS, type DraftField } from '@/parts/job/draft';
import { visible, visibleLines } from '@/parts/log/ansi';
import { useFieldNames, useKnownProblems } from '@/parts/ProblemNotice';
import { usePages } from '@/parts/table/usePages';

type Fate = TakenOne['fate'];

const LOOKS: Record<Fate, BadgeLook> = {
  create: { colour: 'green', icon: '+' },
  change: { colour: 'blue', icon: '≠' },
  same: { colour: 'gray', icon: '=' },
  refuse: { colour: 'red', icon: '✕' },
};

/** What would become of each definition: those that are refused first, for they need somebody. */
export function ImportPreview({ would }: { would: Taken }) {
  const { t } = useTranslation('jobs');
  const { created, changed, same, refused } = would;
  const pages = usePages();
  const columns = useMemo<TableColumnsType<TakenOne>>(
    () => [
      {
        title: t('columns.name'),
        key: 'name',
        render: (_, one) => <Name one={one} />,
      },
      {
        title: t('import.fate'),
        key: 'fate',
        className: 'nowrap',
        render: (_, { fate }) => <Badge look={LOOKS[fate]}>{t(`import.fates.${fate}`)}</Badge>,
      },
      { title: t('import.why'), key: 'why', render: (_, one) => <Why one={one} /> },
    ],
    [t],
  );
  return (
    <>
      <p aria-live="polite">{t('import.sum', { created, changed, same, refused })}</p>
      <Table<TakenOne>
        size="small"
        className="import-table"
        aria-label={t('import.preview')}
        rowKey="place"
        columns={columns}
        dataSource={ordered(would.items)}
        pagination={pages}
        scroll={{ x: 'max-content', y: 360 }}
      />
    </>
  );
}

/** A file may say anything: characters that turn or hide what is read are spelled out. */
function Name({ one }: { one: TakenOne }) {
  const name = visible(one.job_desc);
  return (
    <>
      {one.job_id === null ? name || '–' : <Link to={`/jobs/${one.job_id}`}>{name}</Link>}
      <div className="cell-sub">{visible(one.job_group)}</div>
    </>
  );
}

function Why({ one }: { one: TakenOne }) {
  const { t } = useTranslation(['jobs', 'jobEditor', 'common']);
  const nameOf = useFieldNames();
  const known = useKnownProblems()(one.code, one.facts);
  if (one.fate === 'refuse') {
    const trouble = `${known.is ?? one.detail} ${known.next ?? one.hint ?? ''}`.trim();
    const ofField = known.is && one.field && one.code?.startsWith('field_');
    const why = ofField ? t('common:atField', { field: nameOf(one.field ?? ''), trouble }) : trouble;
    return <div className="import-why">{visibleLines(why)}</div>;
  }
  if (one.fate !== 'change') return null;
  const rows = one.changes
    .filter((change): change is typeof change & { field: DraftField } => isField(change.field))
    .map(({ field, before, after }) => ({ field, values: field === 'glue_source' ? ['…', '…'] : [before, after] }));
  return <ChangesTable label={t('import.changes')} heads={[t('history.before'), t('history.after')]} rows={rows} />;
}

function isField(name: string): name is DraftField {
  return (DRAFT_FIELDS as string[]).includes(name);
}

const RANK: Record<Fate, number> = { refuse: 0, change: 1, create: 2, same: 3 };

function ordered(items: readonly TakenOne[]): TakenOne[] {
  return [...items].sort((one, other) => RANK[one.fate] - RANK[other.fate] || one.place - other.place);
}
