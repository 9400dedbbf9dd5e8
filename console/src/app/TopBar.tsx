import { LogoutOutlined, MoreOutlined, SettingOutlined, UserOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Button, Dropdown } from 'antd';
import { type KeyboardEvent, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation, useNavigate } from 'react-router';
import { signOut, useSession } from '@/api/session';
import { LanguageChoice, ThemeChoice } from '@/app/choices';
import { PaletteButton } from '@/app/palette/PaletteButton';
import { ZoneChoice } from '@/app/ZoneChoice';
import { LiveIndicator } from '@/live/LiveIndicator';
import { useLeaving } from '@/parts/useUnsaved';

export function TopBar() {
  return (
    <header className="top-bar">
      <PaletteButton />
      <div className="top-right">
        <LiveIndicator />
        <Choices />
      </div>
    </header>
  );
}

/** In a row where there is room, and where there is none behind a button that unfolds them. */
function Choices() {
  const { t } = useTranslation('common');
  const { key: visit } = useLocation();
  const [unfoldedAt, setUnfoldedAt] = useState<string | null>(null);
  const button = useRef<HTMLButtonElement>(null);
  const unfolded = unfoldedAt === visit; // whoever goes on to another page is done choosing
  const foldOnEscape = ({ key }: KeyboardEvent) => {
    if (key !== 'Escape' || !unfolded) return;
    setUnfoldedAt(null);
    button.current?.focus();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: Escape comes up here from whatever inside has the focus
    <div className="top-choices" onKeyDown={foldOnEscape}>
      <Button
        ref={button}
        type="text"
        className="top-unfold"
        icon={<MoreOutlined />}
        aria-label={t('choices')}
        aria-expanded={unfolded}
        aria-controls="top-choices"
        onClick={() => setUnfoldedAt(unfolded ? null : visit)}
      />
      <div id="top-choices" className={`top-folding${unfolded ? ' unfolded' : ''}`}>
        <ZoneChoice />
        <LanguageChoice />
        <ThemeChoice />
        <UserMenu />
      </div>
    </div>
  );
}

function UserMenu() {
  const { t } = useTranslation('common');
  const queries = useQueryClient();
  const navigate = useNavigate();
  const session = useSession();
  const leaving = useLeaving();
  const name = session?.name ?? '';
  const items = [
    { key: '/account', icon: <UserOutlined />, label: t('user.account') },
    { key: '/settings', icon: <SettingOutlined />, label: t('nav.settings') },
    { key: 'out', icon: <LogoutOutlined />, label: t('user.signOut') },
  ];
  return (
    <Dropdown
      trigger={['click']}
      menu={{
        items,
        onClick: ({ key }) => (key === 'out' ? leaving(() => void signOut(queries)) : void navigate(key)),
      }}
    >
      <Button type="text" icon={<UserOutlined />} aria-label={t('user.menu', { name })}>
        {name}
      </Button>
    </Dropdown>
  );
}
