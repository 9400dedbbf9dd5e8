// The search of the top bar. It and the keys open the palette, which is loaded when it is first asked for.

import { SearchOutlined } from '@ant-design/icons';
import { lazy, Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asksForPalette, MAC, plainKey } from '@/app/keys';
import './palette.css';

const Palette = lazy(async () => ({ default: (await import('@/app/palette/Palette')).Palette }));
const KeySheet = lazy(async () => ({ default: (await import('@/app/palette/KeySheet')).KeySheet }));

type Shown = 'palette' | 'keys';

export function PaletteButton() {
  const { t } = useTranslation('common');
  const [shown, setShown] = useState<Shown | null>(null);
  const [loaded, setLoaded] = useState<ReadonlySet<Shown>>(new Set());
  const show = (which: Shown) => {
    setLoaded((before) => new Set([...before, which]));
    setShown(which);
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const wanted = asksForPalette(event) ? 'palette' : plainKey(event) === '?' ? 'keys' : null;
      if (wanted === null) return;
      event.preventDefault();
      setLoaded((before) => new Set([...before, wanted]));
      setShown(wanted);
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  return (
    <search>
      <button type="button" className="palette-button" aria-haspopup="dialog" onClick={() => show('palette')}>
        <SearchOutlined />
        <span>{t('search.placeholder')}</span>
        <kbd>{MAC ? '⌘ K' : 'Ctrl K'}</kbd>
      </button>
      <Suspense fallback={null}>
        {loaded.has('palette') && (
          <Palette open={shown === 'palette'} close={() => setShown(null)} showKeys={() => show('keys')} />
        )}
        {loaded.has('keys') && <KeySheet open={shown === 'keys'} close={() => setShown(null)} />}
      </Suspense>
    </search>
  );
}
