import { Tooltip } from 'antd';
import { useTranslation } from 'react-i18next';
import type { Execution } from '@/api/types';
import { TERMINAL } from '@/status/statuses';

/** The coordinator that follows an execution; where none does, why. */
export function Owner({ execution: one }: { execution: Pick<Execution, 'owner_node' | 'status'> }) {
  const { t } = useTranslation('status');
  if (one.owner_node !== null) return <span className="mono">{one.owner_node}</span>;
  const why = TERMINAL[one.status] ? t('owner.ended') : t('owner.open');
  return (
    <Tooltip title={why} trigger={['hover', 'focus', 'click']}>
      <button type="button" className="explained" aria-description={why}>
        {t('owner.none')}
      </button>
    </Tooltip>
  );
}
