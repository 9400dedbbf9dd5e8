import { MenuFoldOutlined, MenuUnfoldOutlined } from '@ant-design/icons';
import { Button, Tooltip } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink } from 'react-router';
import { Logo } from '@/app/Logo';
import { useOfferedPages } from '@/app/offeredPages';

/** The pages one may open. */
export function Navigation() {
  const { t } = useTranslation('common');
  const [folded, setFolded] = useState(false);
  const offered = useOfferedPages();
  const fold = folded ? t('nav.expand') : t('nav.collapse');
  return (
    <nav className={`navigation${folded ? ' folded' : ''}`} aria-label={t('navigation')}>
      <div className="brand">
        <Logo />
        <span className="nav-text">{t('product')}</span>
      </div>
      <ul>
        {offered.map(({ path, nav }) => {
          const name = nav ? t(`nav.${nav.key}`) : '';
          return (
            <li key={path}>
              <Tooltip title={folded ? name : undefined} placement="right">
                <NavLink to={path} end={path === '/'} aria-label={name}>
                  {nav?.icon}
                  <span className="nav-text">{name}</span>
                </NavLink>
              </Tooltip>
            </li>
          );
        })}
      </ul>
      <Button
        type="text"
        className="fold"
        aria-label={fold}
        aria-expanded={!folded}
        icon={folded ? <MenuUnfoldOutlined /> : <MenuFoldOutlined />}
        onClick={() => setFolded(!folded)}
      />
    </nav>
  );
}
