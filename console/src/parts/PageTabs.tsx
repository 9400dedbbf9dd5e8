import { Tabs } from 'antd';
import type { ReactNode } from 'react';
import { useNavigate } from 'react-router';

export interface PageTab {
  key: string;
  label: string;
  content: ReactNode;
}

/** Parts of a page that have addresses of their own, so that a link or a reload leads to the same one. */
export function PageTabs({ at, base, tabs }: { at: string | undefined; base: string; tabs: PageTab[] }) {
  const navigate = useNavigate();
  const active = tabs.find((one) => one.key === at) ?? tabs[0];
  return (
    <Tabs
      activeKey={active?.key ?? ''}
      onChange={(key) => void navigate(`${base}/${key}`)}
      destroyOnHidden
      items={tabs.map(({ key, label, content }) => ({ key, label, children: content }))}
    />
  );
}
