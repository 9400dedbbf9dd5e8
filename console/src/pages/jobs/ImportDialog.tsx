import { UploadOutlined } from '@ant-design/icons';
import { Alert, Button, Checkbox, Upload } from 'antd';
import { useTranslation } from 'react-i18next';
import { ImportPreview } from '@/pages/jobs/ImportPreview';
import { useImport } from '@/pages/jobs/useImport';
import { Dialog } from '@/parts/Dialog';
import { keptOpen } from '@/parts/keptOpen';
import { visible } from '@/parts/log/ansi';
import { ProblemNotice } from '@/parts/ProblemNotice';

/** A file of definitions: chosen, looked at with what would become of each, and then taken in as it was looked at. */
export function ImportDialog() {
  const { t } = useTranslation(['jobs', 'common']);
  const { open, looked, trouble, error, busy, begin, close, choose, look, apply } = useImport();
  const changes = looked ? looked.would.created + looked.would.changed : 0;
  const several = looked && looked.parts.length > 1 ? looked : null;
  const part = several && {
    number: several.at + 1,
    parts: several.parts.length,
    count: several.parts[several.at]?.length ?? 0,
    total: several.parts.reduce((sum, one) => sum + one.length, 0),
  };
  return (
    <>
      <Button icon={<UploadOutlined />} onClick={begin}>
        {t('import.label')}
      </Button>
      <Dialog
        open={open}
        width={860}
        title={t('import.title')}
        okText={part ? t('import.applyPart', part) : t('import.apply', { count: changes })}
        cancelText={t('common:cancel')}
        okButtonProps={{ disabled: changes === 0 && !part, loading: busy }}
        onOk={apply}
        onCancel={close}
        {...keptOpen(looked !== null)}
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
          {looked && <span className="mono">{visible(looked.name)}</span>}
          {looked && (
            <Checkbox
              checked={looked.anyHandler}
              onChange={({ target }) => look({ ...looked, anyHandler: target.checked })}
            >
              {t('import.anyHandler')}
            </Checkbox>
          )}
        </div>
        {trouble && <Alert type="error" showIcon role="alert" title={trouble} />}
        {error !== null && <ProblemNotice error={error} />}
        {part && <Alert type="info" showIcon role="status" title={t('import.part', part)} />}
        {looked && <ImportPreview would={looked.would} />}
      </Dialog>
    </>
  );
}
