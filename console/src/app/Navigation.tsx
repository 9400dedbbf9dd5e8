import { MenuFoldOutlined, MenuUnfoldOutlined } from '@ant-design/icons';
import { Button, Tooltip } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { NavLink } from 'react-router';
import { Logo } from '@/app/Logo';
import { useOfferedPages } from '@/app/offeredPages';
import { useMedia } from '@/theme/useMedia';

/** Where lists need the room: the navigation is folded unless somebody unfolds it. */
const TIGHT = '(max-width: 1100px)';
/** Where shell.css shows icons alone. */
const NARROW = '(max-width: 900px)';

/** The pages one may open. */
export function Navigation() {
  const { t } = useTranslation('common');
  const [chosen, choose] = useState<boolean | null>(null);
  const folded = useMedia(TIGHT) ? chosen !== false : chosen === true;
  const narrow = useMedia(NARROW);
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
              <Tooltip title={folded || narrow ? name : undefined} placement="right">
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
        onClick={() => choose(!folded)}
      />
    </nav>
  );
}
