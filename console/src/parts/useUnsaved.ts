import { App } from 'antd';
import { type RefObject, useCallback, useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { useBlocker } from 'react-router';

/** What is open and may hold something unsaved. */
const open = new Set<RefObject<() => boolean>>();

/** Asks before one leaves with something unsaved: by a link, by Back, by closing the tab or by signing out. */
export function useUnsaved(unsaved: RefObject<() => boolean>): void {
  const ask = useAsking();
  const blocker = useBlocker(
    ({ currentLocation, nextLocation }) => currentLocation.pathname !== nextLocation.pathname && unsaved.current(),
  );
  useEffect(() => {
    if (blocker.state === 'blocked')
      ask(
        () => blocker.proceed(),
        () => blocker.reset(),
      );
  }, [blocker, ask]);
  useEffect(() => {
    const warn = (event: BeforeUnloadEvent) => {
      if (unsaved.current()) event.preventDefault();
    };
    open.add(unsaved);
    window.addEventListener('beforeunload', warn);
    return () => {
      open.delete(unsaved);
      window.removeEventListener('beforeunload', warn);
    };
  }, [unsaved]);
}

/** Leaves the page by other ways than a link, and asks first if something on it is unsaved. */
export function useLeaving(): (leave: () => void) => void {
  const ask = useAsking();
  return useCallback(
    (leave: () => void) => {
      if ([...open].some((one) => one.current())) ask(leave);
      else leave();
    },
    [ask],
  );
}

function useAsking() {
  const { t } = useTranslation('common');
  const { modal } = App.useApp();
  return useCallback(
    (leave: () => void, stay?: () => void) => {
      modal.confirm({
        title: t('unsaved.title'),
        content: t('unsaved.text'),
        okText: t('unsaved.leave'),
        cancelText: t('unsaved.stay'),
        okButtonProps: { danger: true },
        focusable: { autoFocusButton: 'cancel' },
        onOk: leave,
        ...(stay && { onCancel: stay }),
      });
    },
    [modal, t],
  );
}
