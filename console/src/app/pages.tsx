// Every page: its address, its place in the navigation and the file it is loaded from. A page is one row here, one file
// in pages/ and one file of texts for each language.

import {
  AlertOutlined,
  ApartmentOutlined,
  CloudServerOutlined,
  CodeOutlined,
  DashboardOutlined,
  FieldTimeOutlined,
  HeartOutlined,
  SafetyOutlined,
  ScheduleOutlined,
  SettingOutlined,
  UnorderedListOutlined,
} from '@ant-design/icons';
import type { ComponentType, ReactNode } from 'react';
import type { Permission } from '@/api/session';

type Load = () => Promise<{ Component: ComponentType }>;

export interface PageEntry {
  path: string;
  load: Load;
  /** What one must be allowed, somewhere, to be offered the page. */
  needs: Permission;
  /** Needed everywhere: what it shows belongs to no group. */
  everywhere?: true;
  /** Its place in the navigation; without one it is reached from another page. */
  nav?: {
    key:
      | 'dashboard'
      | 'jobs'
      | 'executions'
      | 'timeline'
      | 'executors'
      | 'lifecycle'
      | 'cluster'
      | 'alarms'
      | 'scripts'
      | 'admin'
      | 'settings';
    icon: ReactNode;
  };
}

export const PAGES: PageEntry[] = [
  {
    path: '/',
    load: async () => ({ Component: (await import('@/pages/dashboard/Dashboard')).Dashboard }),
    needs: 'view',
    nav: { key: 'dashboard', icon: <DashboardOutlined /> },
  },
  {
    path: '/jobs',
    load: async () => ({ Component: (await import('@/pages/jobs/Jobs')).Jobs }),
    needs: 'view',
    nav: { key: 'jobs', icon: <ScheduleOutlined /> },
  },
  {
    path: '/jobs/new',
    load: async () => ({ Component: (await import('@/pages/jobEditor/JobEditor')).JobEditor }),
    needs: 'edit',
  },
  {
    path: '/jobs/:id',
    load: async () => ({ Component: (await import('@/pages/job/Job')).Job }),
    needs: 'view',
  },
  {
    path: '/jobs/:id/edit',
    load: async () => ({ Component: (await import('@/pages/jobEditor/JobEditor')).JobEditor }),
    needs: 'edit',
  },
  {
    path: '/executions',
    load: async () => ({ Component: (await import('@/pages/executions/Executions')).Executions }),
    needs: 'view',
    nav: { key: 'executions', icon: <UnorderedListOutlined /> },
  },
  {
    path: '/timeline',
    load: async () => ({ Component: (await import('@/pages/timeline/Timeline')).Timeline }),
    needs: 'view',
    nav: { key: 'timeline', icon: <FieldTimeOutlined /> },
  },
  {
    path: '/executions/:id',
    load: async () => ({ Component: (await import('@/pages/execution/Execution')).Execution }),
    needs: 'view',
  },
  {
    path: '/executions/:id/log',
    load: async () => ({ Component: (await import('@/pages/log/LogPage')).LogPage }),
    needs: 'view',
  },
  {
    path: '/executors',
    load: async () => ({ Component: (await import('@/pages/executors/Executors')).Executors }),
    needs: 'view',
    nav: { key: 'executors', icon: <CloudServerOutlined /> },
  },
  {
    path: '/lifecycle',
    load: async () => ({ Component: (await import('@/pages/lifecycle/Lifecycle')).Lifecycle }),
    needs: 'view',
    everywhere: true,
    nav: { key: 'lifecycle', icon: <HeartOutlined /> },
  },
  {
    path: '/cluster',
    load: async () => ({ Component: (await import('@/pages/cluster/Cluster')).Cluster }),
    needs: 'view',
    everywhere: true,
    nav: { key: 'cluster', icon: <ApartmentOutlined /> },
  },
  {
    path: '/alarms',
    load: async () => ({ Component: (await import('@/pages/alarms/Alarms')).Alarms }),
    needs: 'view',
    nav: { key: 'alarms', icon: <AlertOutlined /> },
  },
  {
    path: '/alarms/:tab',
    load: async () => ({ Component: (await import('@/pages/alarms/Alarms')).Alarms }),
    needs: 'view',
  },
  {
    path: '/scripts',
    load: async () => ({ Component: (await import('@/pages/scripts/Scripts')).Scripts }),
    needs: 'view',
    nav: { key: 'scripts', icon: <CodeOutlined /> },
  },
  {
    path: '/scripts/:job',
    load: async () => ({ Component: (await import('@/pages/scripts/Script')).Script }),
    needs: 'view',
  },
  {
    path: '/admin',
    load: async () => ({ Component: (await import('@/pages/admin/Admin')).Admin }),
    needs: 'administer',
    nav: { key: 'admin', icon: <SafetyOutlined /> },
  },
  {
    path: '/admin/:tab',
    load: async () => ({ Component: (await import('@/pages/admin/Admin')).Admin }),
    needs: 'administer',
  },
  {
    path: '/settings',
    load: async () => ({ Component: (await import('@/pages/settings/Settings')).Settings }),
    needs: 'view',
    nav: { key: 'settings', icon: <SettingOutlined /> },
  },
  {
    path: '/account',
    load: async () => ({ Component: (await import('@/pages/account/Account')).Account }),
    needs: 'view',
  },
];
