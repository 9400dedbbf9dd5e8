import { useTranslation } from 'react-i18next';
import { Ago } from '@/parts/time/Ago';
import { useNow } from '@/parts/time/useNow';

/** How soon something planned comes; once its time is there it is due, and not so many seconds ago. */
export function Coming({ at }: { at: string }) {
  const { t } = useTranslation('common');
  if (Date.parse(at) > useNow()) return <Ago at={at} />;
  return <time dateTime={at}>{t('due')}</time>;
}
