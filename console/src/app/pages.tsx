// Every page: its address, its place in the navigation and the file it is loaded from. A page is one row here, one file
// in pages/ and one file of texts for each language.

import {
  AlertOutlined,
  ApartmentOutlined,
  CloudServerOutlined,
  CodeOutlined,
  DashboardOutlined,
  HeartOutlined,
  SafetyOutlined,
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
      | 'executions'
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
    path: '/executions',
    load: async () => ({ Component: (await import('@/pages/executions/Executions')).Executions }),
    needs: 'view',
    nav: { key: 'executions', icon: <UnorderedListOutlined /> },
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
];
