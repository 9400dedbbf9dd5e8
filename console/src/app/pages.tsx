// Every page: its address, its place in the navigation and the file it is loaded from. A page is one row here, one file
// in pages/ and one file of texts for each language.

import { DashboardOutlined, UnorderedListOutlined } from '@ant-design/icons';
import type { ComponentType, ReactNode } from 'react';
import type { Permission } from '@/api/session';

type Load = () => Promise<{ Component: ComponentType }>;

export interface PageEntry {
  path: string;
  load: Load;
  /** What one must be allowed, somewhere, to be offered the page. */
  needs: Permission;
  /** Its place in the navigation; without one it is reached from another page. */
  nav?: { key: 'dashboard' | 'executions'; icon: ReactNode };
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
];
