import { useQueryClient } from '@tanstack/react-query';
import { Button, Form, Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { readScript, type Script } from '@/api/scripts';
import { isOutdated } from '@/api/tagged';
import type { Refused } from '@/pages/scripts/Conflict';
import { saveScript } from '@/pages/scripts/queries';
import { FormDialog } from '@/parts/FormDialog';

interface Props {
  script: Script;
  source: string;
  etag: string;
  unsaved: boolean;
  /** The draft is not needed any more. */
  forget: () => void;
  /** Somebody else has saved meanwhile. */
  refuse: (refused: Refused) => void;
}

/** Save with a remark that says what was changed; the next execution runs it. */
export function SaveScript({ script, source, etag, unsaved, forget, refuse }: Props) {
  const { t } = useTranslation('scripts');
  const queries = useQueryClient();
  const jobId = script.job_id;
  return (
    <>
      {unsaved && <Button onClick={forget}>{t('save.discard')}</Button>}
      <FormDialog<{ remark: string }>
        label={t('save.label')}
        title={t('save.title', { job: script.job_desc })}
        confirm={t('save.label')}
        button={{ type: 'primary', disabled: !unsaved }}
        act={async ({ remark }) => {
          try {
            await saveScript(jobId, etag, source, remark);
          } catch (reason) {
            if (!isOutdated(reason)) throw reason;
            refuse({ theirs: await readScript(jobId), remark });
            return null;
          }
          await queries.invalidateQueries({ queryKey: ['scripts'] });
          forget();
          return t('save.done');
        }}
      >
        <p>{t('save.text')}</p>
        <RemarkField />
      </FormDialog>
    </>
  );
}

export function RemarkField() {
  const { t } = useTranslation('scripts');
  return (
    <Form.Item
      name="remark"
      label={t('save.remark')}
      rules={[{ required: true, min: 4, max: 100, message: t('save.remarkRule') }]}
    >
      <Input maxLength={100} />
    </Form.Item>
  );
}
