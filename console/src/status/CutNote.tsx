import { useTranslation } from 'react-i18next';
import { cutOf } from '@/status/cut';

/** Says of a message that was too long how much of it is shown. */
export function CutNote({ message }: { message: string }) {
  const { t } = useTranslation('status');
  const cut = cutOf(message);
  return cut && <p className="muted cut-note">{t('cut', { ...cut })}</p>;
}
