import { useQuery } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { Dialog } from '@/parts/Dialog';
import type { Log } from '@/parts/log/Log';
import { Pieces } from '@/parts/log/LogRow';
import { ProblemNotice } from '@/parts/ProblemNotice';

/** A line that is too long to be shown among the others. */
export function WholeLine({ log, line, onClose }: { log: Log; line: number; onClose: () => void }) {
  const { t } = useTranslation('log');
  const page = useQuery({ queryKey: ['log-line', log.id, line], queryFn: () => log.page(line, 1), gcTime: 0 });
  return (
    <Dialog open title={t('line', { number: line })} width="80vw" footer={null} onCancel={onClose}>
      {page.isPending ? (
        <Skeleton active title={false} />
      ) : page.isError ? (
        <ProblemNotice error={page.error} retry={() => void page.refetch()} />
      ) : (
        <pre
          className="log-whole"
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, also by keyboard
          tabIndex={0}
        >
          <Pieces text={page.data.content} />
        </pre>
      )}
    </Dialog>
  );
}
