// The search of the top bar. It and the keys open the palette, which is loaded when it is first asked for.

import { SearchOutlined } from '@ant-design/icons';
import { App } from 'antd';
import { type ComponentType, Suspense, useCallback, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { once } from '@/app/files';
import { asksForPalette, MAC, plainKey } from '@/app/keys';
import { Typeahead } from '@/app/palette/Typeahead';
import { loadTexts } from '@/i18n/i18n';
import './palette.css';

interface Part {
  open: boolean;
  close: () => void;
  showKeys: () => void;
  typed: Typeahead;
}

type Shown = 'palette' | 'keys';

const LOAD: Record<Shown, () => Promise<ComponentType<Part>>> = {
  palette: once(async () => (await withTexts(import('@/app/palette/Palette'))).Palette),
  keys: once(async () => (await withTexts(import('@/app/palette/KeySheet'))).KeySheet),
};

async function withTexts<T>(module: Promise<T>): Promise<T> {
  const [loaded] = await Promise.all([module, loadTexts(['palette'])]);
  return loaded;
}

export function PaletteButton() {
  const { t } = useTranslation('common');
  const { notification } = App.useApp();
  const [shown, setShown] = useState<Shown | null>(null);
  const [typed] = useState(() => new Typeahead());
  const [parts, setParts] = useState<Partial<Record<Shown, ComponentType<Part>>>>({});
  const show = useCallback(
    (which: Shown) => {
      setShown(which);
      if (which === 'palette' && shown !== which) typed.begin(() => setShown(null));
      LOAD[which]().then(
        (part) => setParts((before) => ({ ...before, [which]: part })),
        () => {
          // The page goes on without it; who asks again has it fetched again.
          typed.take();
          setShown(null);
          notification.error({ title: t('errors.lostPart'), description: t('errors.lostFile') });
        },
      );
    },
    [notification, t, typed, shown],
  );
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const wanted = asksForPalette(event) ? 'palette' : plainKey(event) === '?' ? 'keys' : null;
      if (wanted === null) return;
      event.preventDefault();
      show(wanted);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [show]);
  return (
    <search>
      <button type="button" className="palette-button" aria-haspopup="dialog" onClick={() => show('palette')}>
        <SearchOutlined />
        <span>{t('search.placeholder')}</span>
        <kbd>{MAC ? '⌘ K' : 'Ctrl K'}</kbd>
      </button>
      <Suspense fallback={null}>
        {(['palette', 'keys'] as const).map((which) => {
          const Part = parts[which];
          return (
            Part && (
              <Part
                key={which}
                open={shown === which}
                close={() => setShown(null)}
                showKeys={() => show('keys')}
                typed={typed}
              />
            )
          );
        })}
      </Suspense>
    </search>
  );
}
