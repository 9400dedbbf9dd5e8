// What each status of a service looks like. One that is added to the API and not here does not compile.

import {
  CheckCircleOutlined,
  CloseCircleOutlined,
  ExportOutlined,
  LoadingOutlined,
  PoweroffOutlined,
  SmileOutlined,
  ThunderboltOutlined,
} from '@ant-design/icons';
import type { ServiceStatus } from '@/api/types';
import type { BadgeLook } from '@/parts/Badge';

export const SERVICE_LOOKS: Record<ServiceStatus, BadgeLook> = {
  Starting: { colour: 'blue', icon: <LoadingOutlined />, pulsing: true },
  Running: { colour: 'green', icon: <CheckCircleOutlined /> },
  Idle: { colour: 'green', icon: <SmileOutlined /> },
  Busy: { colour: 'teal', icon: <ThunderboltOutlined /> },
  Stopping: { colour: 'orange', icon: <ExportOutlined /> },
  Stopped: { colour: 'gray', icon: <PoweroffOutlined /> },
  Failed: { colour: 'red', icon: <CloseCircleOutlined /> },
};
