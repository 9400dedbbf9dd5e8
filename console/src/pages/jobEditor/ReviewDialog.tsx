import { Modal } from 'antd';
import { useTranslation } from 'react-i18next';
import { ChangesTable } from '@/parts/job/ChangesTable';
import type { Change } from '@/parts/job/draft';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Props {
  name: string;
  isNew: boolean;
  changes: readonly Change[];
  busy: boolean;
  error: unknown;
  save: () => void;
  back: () => void;
}

/** What saving would change, before it does. */
export function ReviewDialog({ name, isNew, changes, busy, error, save, back }: Props) {
  const { t } = useTranslation('jobEditor');
  return (
    <Modal
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
      {error !== null && <ProblemNotice error={error} />}
    </Modal>
  );
}
