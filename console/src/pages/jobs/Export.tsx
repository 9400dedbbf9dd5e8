import { App, Button } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Definition, fileOf } from '@/pages/jobs/definitions';
import { useSaying } from '@/parts/ProblemNotice';
import { saveText } from '@/parts/saveText';

/** The definitions as a file, code included: to keep, to compare, or to take in elsewhere. */
export function Export({ definitions }: { definitions: () => Promise<Definition[]> }) {
  const { t } = useTranslation('jobs');
  const { message } = App.useApp();
  const say = useSaying();
  const [busy, setBusy] = useState(false);

  async function save() {
    setBusy(true);
    try {
      saveText('orth-jobs.json', fileOf(await definitions()));
    } catch (error) {
      message.error(say(error).title);
    } finally {
      setBusy(false);
    }
  }

  return (
    <Button size="small" loading={busy} onClick={() => void save()}>
      {t('bulk.export')}
    </Button>
  );
}
