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
import type { QueryClient } from '@tanstack/react-query';
import type { FlatNamespace } from 'i18next';
import type { ComponentType, ReactNode } from 'react';
import type { Permission } from '@/api/session';

type Load = () => Promise<{ Component: ComponentType }>;
type Ask = (queries: QueryClient, params: URLSearchParams) => void;

export interface PageEntry {
  path: string;
  load: Load;
  /** Its file of texts. */
  texts: FlatNamespace;
  /** Asks for what the page shows first, while it is still being loaded. */
  asks?: () => Promise<{ ask: Ask }>;
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
    texts: 'dashboard',
    asks: () => import('@/pages/dashboard/asks'),
    needs: 'view',
    nav: { key: 'dashboard', icon: <DashboardOutlined /> },
  },
  {
    path: '/jobs',
    load: async () => ({ Component: (await import('@/pages/jobs/Jobs')).Jobs }),
    texts: 'jobs',
    asks: () => import('@/pages/jobs/asks'),
    needs: 'view',
    nav: { key: 'jobs', icon: <ScheduleOutlined /> },
  },
  {
    path: '/jobs/new',
    load: async () => ({ Component: (await import('@/pages/jobEditor/JobEditor')).JobEditor }),
    texts: 'jobEditor',
    needs: 'edit',
  },
  {
    path: '/jobs/:id',
    load: async () => ({ Component: (await import('@/pages/job/Job')).Job }),
    texts: 'jobs',
    needs: 'view',
  },
  {
    path: '/jobs/:id/edit',
    load: async () => ({ Component: (await import('@/pages/jobEditor/JobEditor')).JobEditor }),
    texts: 'jobEditor',
    needs: 'edit',
  },
  {
    path: '/executions',
    load: async () => ({ Component: (await import('@/pages/executions/Executions')).Executions }),
    texts: 'executions',
    asks: () => import('@/pages/executions/asks'),
    needs: 'view',
    nav: { key: 'executions', icon: <UnorderedListOutlined /> },
  },
  {
    path: '/timeline',
    load: async () => ({ Component: (await import('@/pages/timeline/Timeline')).Timeline }),
    texts: 'timeline',
    asks: () => import('@/pages/timeline/asks'),
    needs: 'view',
    nav: { key: 'timeline', icon: <FieldTimeOutlined /> },
  },
  {
    path: '/executions/:id',
    load: async () => ({ Component: (await import('@/pages/execution/Execution')).Execution }),
    texts: 'execution',
    needs: 'view',
  },
  {
    path: '/executions/:id/log',
    load: async () => ({ Component: (await import('@/pages/log/LogPage')).LogPage }),
    texts: 'execution',
    needs: 'view',
  },
  {
    path: '/executors',
    load: async () => ({ Component: (await import('@/pages/executors/Executors')).Executors }),
    texts: 'executors',
    asks: () => import('@/pages/executors/asks'),
    needs: 'view',
    nav: { key: 'executors', icon: <CloudServerOutlined /> },
  },
  {
    path: '/lifecycle',
    load: async () => ({ Component: (await import('@/pages/lifecycle/Lifecycle')).Lifecycle }),
    texts: 'lifecycle',
    needs: 'view',
    everywhere: true,
    nav: { key: 'lifecycle', icon: <HeartOutlined /> },
  },
  {
    path: '/cluster',
    load: async () => ({ Component: (await import('@/pages/cluster/Cluster')).Cluster }),
    texts: 'cluster',
    needs: 'view',
    everywhere: true,
    nav: { key: 'cluster', icon: <ApartmentOutlined /> },
  },
  {
    path: '/alarms',
    load: async () => ({ Component: (await import('@/pages/alarms/Alarms')).Alarms }),
    texts: 'alarms',
    needs: 'view',
    nav: { key: 'alarms', icon: <AlertOutlined /> },
  },
  {
    path: '/alarms/:tab',
    load: async () => ({ Component: (await import('@/pages/alarms/Alarms')).Alarms }),
    texts: 'alarms',
    needs: 'view',
  },
  {
    path: '/scripts',
    load: async () => ({ Component: (await import('@/pages/scripts/Scripts')).Scripts }),
    texts: 'scripts',
    asks: () => import('@/pages/scripts/asks'),
    needs: 'view',
    nav: { key: 'scripts', icon: <CodeOutlined /> },
  },
  {
    path: '/scripts/:job',
    load: async () => ({ Component: (await import('@/pages/scripts/Script')).Script }),
    texts: 'scripts',
    needs: 'view',
  },
  {
    path: '/admin',
    load: async () => ({ Component: (await import('@/pages/admin/Admin')).Admin }),
    texts: 'admin',
    needs: 'administer',
    nav: { key: 'admin', icon: <SafetyOutlined /> },
  },
  {
    path: '/admin/:tab',
    load: async () => ({ Component: (await import('@/pages/admin/Admin')).Admin }),
    texts: 'admin',
    needs: 'administer',
  },
  {
    path: '/settings',
    load: async () => ({ Component: (await import('@/pages/settings/Settings')).Settings }),
    texts: 'settings',
    needs: 'view',
    nav: { key: 'settings', icon: <SettingOutlined /> },
  },
  {
    path: '/account',
    load: async () => ({ Component: (await import('@/pages/account/Account')).Account }),
    texts: 'account',
    needs: 'view',
  },
];
