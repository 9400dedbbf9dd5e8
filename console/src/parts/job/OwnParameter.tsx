import { Input } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '@/api/session';

/** Handlers whose parameter is code: it says which program runs, or which address is called. */
const READ_CODE: readonly string[] = ['orth.command', 'orth.http'];

/** Whether the person who is signed in may not give this handler another parameter than the job's own. */
export function useOwnParameterOnly(handler: string, group: number): boolean {
  const may = useMay();
  return READ_CODE.includes(handler) && !may('script', group);
}

/** The parameter as it is, where another would be refused, and why. */
export function OwnParameter({ value }: { value: string }) {
  const { t } = useTranslation('jobs');
  return (
    <>
      <Input.TextArea className="mono" readOnly disabled rows={3} value={value} aria-label={t('param.text')} />
      <p className="muted">{t('run.paramIsCode')}</p>
    </>
  );
}
