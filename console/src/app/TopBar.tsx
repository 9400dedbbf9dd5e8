import { LogoutOutlined, SearchOutlined, SettingOutlined, UserOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Button, Dropdown, Input, type InputRef } from 'antd';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { signOut, useSession } from '@/api/session';
import { LanguageChoice, ThemeChoice, ZoneChoice } from '@/app/choices';
import { LiveIndicator } from '@/live/LiveIndicator';

export function TopBar() {
  return (
    <header className="top-bar">
      <Search />
      <div className="top-right">
        <LiveIndicator />
        <ZoneChoice />
        <LanguageChoice />
        <ThemeChoice />
        <UserMenu />
      </div>
    </header>
  );
}

/** Looks for a text in executions; `/` and Ctrl+K or ⌘K lead here from anywhere. */
function Search() {
  const { t } = useTranslation('common');
  const navigate = useNavigate();
  const input = useRef<InputRef>(null);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const typing = event.target instanceof HTMLElement && event.target.closest('input, textarea, [contenteditable]');
      const asked = (event.key === '/' && !typing) || (event.key === 'k' && (event.ctrlKey || event.metaKey));
      if (!asked) return;
      event.preventDefault();
      input.current?.focus();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <search>
      <Input
        ref={input}
        className="top-search"
        prefix={<SearchOutlined />}
        suffix={<kbd>/</kbd>}
        placeholder={t('search.placeholder')}
        aria-label={t('search.label')}
        maxLength={200}
        onPressEnter={(event) => {
          const text = event.currentTarget.value.trim();
          if (text) void navigate(`/executions?${new URLSearchParams({ text })}`);
        }}
      />
    </search>
  );
}

function UserMenu() {
  const { t } = useTranslation('common');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const session = useSession();
  const name = session?.name ?? '';
  const items = [
    { key: '/account', icon: <UserOutlined />, label: t('user.account') },
    { key: '/settings', icon: <SettingOutlined />, label: t('nav.settings') },
    { key: 'out', icon: <LogoutOutlined />, label: t('user.signOut') },
  ];
  return (
    <Dropdown trigger={['click']} menu={{ items, onClick: ({ key }) => void (key === 'out' ? signOut(queries) : navigate(key)) }}>
      <Button type="text" icon={<UserOutlined />} aria-label={t('user.menu', { name })}>
        {name}
      </Button>
    </Dropdown>
  );
}
