import { Tooltip } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Execution } from '@/api/types';
import { TERMINAL } from '@/status/statuses';

/** The coordinator that follows an execution; where none does, the one that sent it, or why there is none. */
export function Owner({ execution: one }: { execution: Pick<Execution, 'owner_node' | 'sent_by' | 'status'> }) {
  const { t } = useTranslation('status');
  if (one.owner_node !== null) return <span className="mono">{one.owner_node}</span>;
  const sender = TERMINAL[one.status] ? one.sent_by : null;
  const why = sender ? t('owner.sent') : TERMINAL[one.status] ? t('owner.ended') : t('owner.open');
  return (
    <Tooltip title={why} trigger={['hover', 'focus', 'click']}>
      <button type="button" className={sender ? 'explained mono' : 'explained'} aria-description={why}>
        {sender ?? t('owner.none')}
      </button>
    </Tooltip>
  );
}
