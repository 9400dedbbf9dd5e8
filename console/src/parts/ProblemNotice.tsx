import { Alert, Button } from 'antd';
import { useTranslation } from 'react-i18next';
import { Problem } from '@/api/problem';
import './parts.css';

/** Why something did not work, and what to do next. */
export function ProblemNotice({ error, retry }: { error: unknown; retry?: () => void }) {
  const { t } = useTranslation('common');
  const { title, description } = useSaid(error);
  const action = retry && (
    <Button size="small" onClick={retry}>
      {t('retry')}
    </Button>
  );
  const said = description && <span className="problem-hint">{description}</span>;
  return <Alert type="error" showIcon title={title} description={said} action={action} role="alert" />;
}

interface Said {
  title: string;
  description: string | undefined;
}

/** An error in words: the server's own, or ours when it could not be asked. */
export function useSaid(error: unknown): Said {
  return useSaying()(error);
}

export function useSaying(): (error: unknown) => Said {
  const { t } = useTranslation('common');
  return (error) => {
    if (error instanceof Problem) return { title: error.message, description: error.hint };
    return { title: t('unreachable'), description: t('unreachableHint') };
  };
}
