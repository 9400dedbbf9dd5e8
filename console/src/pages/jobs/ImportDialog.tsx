import { UploadOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Alert, App, Button, Checkbox, Modal, Upload } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import type { Taken } from '@/api/types';
import { AT_ONCE, type Definition, readFile, type Unreadable } from '@/pages/jobs/definitions';
import { ImportPreview } from '@/pages/jobs/ImportPreview';
import { previewOf, takeIn } from '@/pages/jobs/queries';
import { ProblemNotice } from '@/parts/ProblemNotice';

interface Looked {
  name: string;
  jobs: Definition[];
  anyHandler: boolean;
  would: Taken;
}

/** A file of definitions: chosen, looked at with what would become of each, and then taken in as it was looked at. */
export function ImportDialog() {
  const { t } = useTranslation(['jobs', 'common']);
  const { message } = App.useApp();
  const queries = useQueryClient();
  const [open, setOpen] = useState(false);
  const [looked, setLooked] = useState<Looked | null>(null);
  const [trouble, setTrouble] = useState<Unreadable | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState(false);
  const changes = looked ? looked.would.created + looked.would.changed : 0;

  function begin() {
    setLooked(null);
    setTrouble(null);
    setError(null);
    setOpen(true);
  }

  async function working(work: () => Promise<void>) {
    setBusy(true);
    setError(null);
    try {
      await work();
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  }

  async function look(name: string, jobs: Definition[], anyHandler: boolean) {
    setLooked({ name, jobs, anyHandler, would: await previewOf(jobs, anyHandler) });
  }

  async function choose(file: File) {
    const jobs = readFile(await file.text());
    setLooked(null);
    setTrouble(Array.isArray(jobs) ? null : jobs);
    if (Array.isArray(jobs)) await working(() => look(file.name, jobs, false));
  }

  async function apply({ name, jobs, anyHandler, would }: Looked) {
    try {
      const { created, changed } = await takeIn(jobs, anyHandler, would.plan);
      message.success(t('import.done', { created, changed }));
      setOpen(false);
      await Promise.all(['executions', 'jobs'].map((key) => queries.invalidateQueries({ queryKey: [key] })));
    } catch (reason) {
      if (reason instanceof Problem && reason.status === 412) await look(name, jobs, anyHandler);
      throw reason;
    }
  }

  return (
    <>
      <Button icon={<UploadOutlined />} onClick={begin}>
        {t('import.label')}
      </Button>
      <Modal
        open={open}
        width={860}
        title={t('import.title')}
        okText={t('import.apply', { count: changes })}
        cancelText={t('common:cancel')}
        okButtonProps={{ disabled: changes === 0, loading: busy }}
        onOk={() => looked && void working(() => apply(looked))}
        onCancel={() => setOpen(false)}
        destroyOnHidden
      >
        <p>{t('import.text')}</p>
        <div className="import-file">
          <Upload
            accept=".json,application/json"
            showUploadList={false}
            beforeUpload={(file) => {
              void choose(file);
              return false; // it is sent as what it says, not as a file
            }}
          >
            <Button loading={busy && !looked}>{t('import.choose')}</Button>
          </Upload>
          {looked && <span className="mono">{looked.name}</span>}
          {looked && (
            <Checkbox
              checked={looked.anyHandler}
              onChange={({ target }) => void working(() => look(looked.name, looked.jobs, target.checked))}
            >
              {t('import.anyHandler')}
            </Checkbox>
          )}
        </div>
        {trouble && (
          <Alert type="error" showIcon role="alert" title={t(`import.trouble.${trouble}`, { count: AT_ONCE })} />
        )}
        {error !== null && <ProblemNotice error={error} />}
        {looked && <ImportPreview would={looked.would} />}
      </Modal>
    </>
  );
}
