import { Alert } from 'antd';
import { useTranslation } from 'react-i18next';
import { CopyButton } from '@/parts/CopyButton';
import { Dialog } from '@/parts/Dialog';
import { keptOpen } from '@/parts/keptOpen';
import './parts.css';

export interface Once {
  title: string;
  text: string;
}

/** A secret that was just made. It is kept nowhere on the page: closing the dialog is the end of it. */
export function ShownOnce({ once, close }: { once: Once | null; close: () => void }) {
  const { t } = useTranslation('common');
  return (
    <Dialog
      open={once !== null}
      title={once?.title}
      okText={t('once.done')}
      cancelButtonProps={{ hidden: true }}
      {...keptOpen(true)}
      onOk={close}
      onCancel={close}
      destroyOnHidden
    >
      <Alert type="warning" showIcon title={t('once.warning')} />
      {once && (
        <div className="snippet snippet-wide">
          <pre>{once.text}</pre>
          <CopyButton text={once.text} />
        </div>
      )}
    </Dialog>
  );
}
