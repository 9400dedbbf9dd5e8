import { CloseOutlined, StarFilled, StarOutlined } from '@ant-design/icons';
import { Button, Input, Popover } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Link, useLocation } from 'react-router';
import { usePreference } from '@/app/preferences';
import { addressOf, haveRoom, NAME_LIMIT, viewsOf, without, withView } from '@/parts/views/views';
import './views.css';

/** The views of this page that somebody kept, and a way to keep the one that is shown. */
export function SavedViews() {
  const { t } = useTranslation('common');
  const [open, setOpen] = useState(false);
  const [views] = usePreference('views');
  const { pathname: page, search } = useLocation();
  const current = viewsOf(views, page).find((one) => one.search === search.slice(1));
  return (
    <Popover
      open={open}
      onOpenChange={setOpen}
      trigger="click"
      placement="bottomRight"
      destroyOnHidden
      content={<Chooser page={page} close={() => setOpen(false)} />}
    >
      <Button
        icon={current ? <StarFilled /> : <StarOutlined />}
        aria-haspopup="dialog"
        aria-expanded={open}
        onKeyDown={(event) => event.key === 'Escape' && setOpen(false)}
      >
        {current ? current.name : t('views.label')}
      </Button>
    </Popover>
  );
}

function Chooser({ page, close }: { page: string; close: () => void }) {
  const { t } = useTranslation('common');
  const [views, keep] = usePreference('views');
  const { search } = useLocation();
  const [name, setName] = useState('');
  const own = viewsOf(views, page);
  const wanted = withView(views, { page, name, search: search.slice(1) });
  const full = !haveRoom(wanted);
  const save = () => {
    if (full) return;
    keep(wanted);
    setName('');
  };
  return (
    <div
      role="dialog"
      aria-label={t('views.label')}
      className="saved-views"
      onKeyDown={(event) => event.key === 'Escape' && close()}
    >
      {own.length === 0 ? (
        <p className="muted">{t('views.none')}</p>
      ) : (
        <ul>
          {own.map((view) => (
            <li key={view.name}>
              <Link to={addressOf(view)} onClick={close} aria-current={view.search === search.slice(1) || undefined}>
                {view.name}
              </Link>
              <Button
                type="text"
                size="small"
                icon={<CloseOutlined />}
                aria-label={t('views.remove', { name: view.name })}
                onClick={() => keep(without(views, page, view.name))}
              />
            </li>
          ))}
        </ul>
      )}
      <div className="saved-views-new">
        <Input
          value={name}
          maxLength={NAME_LIMIT}
          placeholder={t('views.name')}
          aria-label={t('views.name')}
          onChange={(event) => setName(event.target.value)}
          onPressEnter={save}
        />
        <Button type="primary" disabled={full || !name.trim()} onClick={save}>
          {t('views.save')}
        </Button>
      </div>
      {full && (
        <p role="alert" className="saved-views-full">
          {t('views.full')}
        </p>
      )}
    </div>
  );
}
