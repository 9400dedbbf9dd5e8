import { Alert } from 'antd';
import { useTranslation } from 'react-i18next';
import { Dialog } from '@/parts/Dialog';
import { ChangesTable } from '@/parts/job/ChangesTable';
import type { Change, Draft } from '@/parts/job/draft';
import type { Wrong } from '@/parts/job/schema';
import { WrongList } from '@/parts/job/WrongList';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Props {
  draft: Draft;
  isNew: boolean;
  changes: readonly Change[];
  /** What the handler would not take of the parameter. */
  wrong: readonly Wrong[];
  busy: boolean;
  error: unknown;
  save: () => void;
  back: () => void;
}

/** What saving would change, before it does. */
export function ReviewDialog({ draft, isNew, changes, wrong, busy, error, save, back }: Props) {
  const { t } = useTranslation('jobEditor');
  const name = draft.job_desc;
  const scheduled = draft.schedule_type !== 'NONE';
  // Who runs it by hand is asked for what is missing; a schedule asks nobody.
  const told = wrong.filter(({ trouble }) => scheduled || trouble !== 'missing');
  return (
    <Dialog
      open
      width={760}
      title={isNew ? t('review.create', { job: name }) : t('review.change', { job: name })}
      okText={isNew ? t('create') : t('save')}
      cancelText={t('review.back')}
      okButtonProps={{ loading: busy, autoFocus: true }}
      onOk={save}
      onCancel={back}
    >
      <ChangesTable
        label={t('review.label')}
        heads={isNew ? [t('review.value')] : [t('review.before'), t('review.after')]}
        rows={changes.map(({ field, before, after }) => ({ field, values: isNew ? [after] : [before, after] }))}
      />
      {told.length > 0 && (
        <Alert
          type="warning"
          showIcon
          className="review-warning"
          title={scheduled ? t('review.firesFail') : t('review.runsFail')}
          description={<WrongList wrong={told} />}
        />
      )}
      {error !== null && <ProblemNotice error={error} />}
    </Dialog>
  );
}
