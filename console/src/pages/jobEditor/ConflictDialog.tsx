import { Radio } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from '@/parts/Dialog';
import { ChangesTable } from '@/parts/job/ChangesTable';
import { conflictsOf, type Draft, type DraftField, merged } from '@/parts/job/draft';

interface Props {
  base: Draft;
  mine: Draft;
  theirs: Draft;
  /** Go on with a draft on top of the other's version; without one, as it is. */
  settle: (draft?: Draft) => void;
}

/** Somebody else saved first: their change beside one's own, and a choice where both changed the same. */
export function ConflictDialog({ base, mine, theirs, settle }: Props) {
  const { t } = useTranslation('jobEditor');
  const [keep, setKeep] = useState<ReadonlySet<DraftField>>(new Set());
  const conflicts = conflictsOf(base, mine, theirs);
  const clash = conflicts.some(({ by }) => by === 'both');

  function choose(field: DraftField, whose: string) {
    const chosen = new Set(keep);
    if (whose === 'mine') chosen.add(field);
    else chosen.delete(field);
    setKeep(chosen);
  }

  return (
    <Dialog
      open
      width={860}
      title={t('conflict.title', { job: theirs.job_desc })}
      onCancel={() => settle()}
      okText={t('conflict.goOn')}
      cancelText={t('conflict.takeTheirs')}
      cancelButtonProps={{ danger: true, onClick: () => settle(theirs) }}
      onOk={() => settle(merged(base, mine, theirs, keep))}
    >
      <p>{clash ? t('conflict.clash') : t('conflict.apart')}</p>
      <ChangesTable
        label={t('conflict.label')}
        heads={[t('conflict.base'), t('conflict.theirs'), t('conflict.mine')]}
        rows={conflicts.map(({ field, by, ...values }) => ({
          field,
          values: [values.base, values.theirs, values.mine],
          choice:
            by === 'both' ? (
              <Radio.Group
                size="small"
                optionType="button"
                aria-label={t(`fields.${field}`)}
                value={keep.has(field) ? 'mine' : 'theirs'}
                onChange={({ target }) => choose(field, target.value)}
                options={[
                  { value: 'theirs', label: t('conflict.theirs') },
                  { value: 'mine', label: t('conflict.mine') },
                ]}
              />
            ) : (
              <span className="muted">{by === 'mine' ? t('conflict.mineAlone') : t('conflict.theirsAlone')}</span>
            ),
        }))}
      />
    </Dialog>
  );
}
