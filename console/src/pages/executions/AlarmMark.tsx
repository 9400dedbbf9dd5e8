import { BellOutlined } from '@ant-design/icons';
import { Tooltip } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import type { Execution } from '@/api/types';
import '@/status/status.css';
import './executions.css';

/** The states worth a mark: where nothing is to be told there is none. */
const STATES = { [-1]: 'sending', 2: 'told', 3: 'failed' } as const;
const COLOURS = { sending: 'blue', told: 'gray', failed: 'red' } as const;

/** Whether somebody was told of this execution, beside its tag. */
export function AlarmMark({ execution }: { execution: Execution }) {
  const { t } = useTranslation('executions');
  const state = STATES[execution.alarm_status as keyof typeof STATES];
  if (!state) return null;
  return (
    <Tooltip title={t(`alarm.${state}`)}>
      <Link
        to="/alarms/history"
        className={`alarm-mark status-${COLOURS[state]}`}
        aria-label={t(`alarm.${state}`)}
        data-alarm={state}
      >
        <BellOutlined />
      </Link>
    </Tooltip>
  );
}
