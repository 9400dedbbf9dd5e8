import { LogoutOutlined, SettingOutlined, UserOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Button, Dropdown } from 'antd';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { signOut, useSession } from '@/api/session';
import { LanguageChoice, ThemeChoice, ZoneChoice } from '@/app/choices';
import { PaletteButton } from '@/app/palette/PaletteButton';
import { LiveIndicator } from '@/live/LiveIndicator';

export function TopBar() {
  return (
    <header className="top-bar">
      <PaletteButton />
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
    <Dropdown
      trigger={['click']}
      menu={{ items, onClick: ({ key }) => void (key === 'out' ? signOut(queries) : navigate(key)) }}
    >
      <Button type="text" icon={<UserOutlined />} aria-label={t('user.menu', { name })}>
        {name}
      </Button>
    </Dropdown>
  );
}
