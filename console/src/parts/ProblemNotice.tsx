import { Alert, Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';

/** Why something did not work, and what to do next. */
export function ProblemNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useTranslation('common');
  const { title, description } = useSaid(error);
  const action = retry && (
    <Button size="small" onClick={retry}>
      {t('retry')}
    </Button>
  );
  return <Alert type="error" showIcon title={title} description={description} action={action} role="alert" />;
}

/** An error in words: the server's own, or ours when it could not be asked. */
export function useSaid(error: unknown): { title: string; description: string | undefined } {
  const { t } = useTranslation('common');
  if (error instanceof Problem) return { title: error.message, description: error.hint };
  return { title: t('unreachable'), description: t('unreachableHint') };
}
