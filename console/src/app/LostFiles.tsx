import { Button } from 'antd';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLine } from '@/live/LiveProvider';
import { EmptyState } from '@/parts/EmptyState';

/** Files of a page could not be fetched. If that was because the server is away, `again` is done once it is back. */
export function LostFiles({ again }: { again?: () => void }) {
  const { t } = useTranslation('common');
  const line = useLine()?.kind;
  const [away, setAway] = useState(line === 'waiting');
  useEffect(() => {
    if (line === 'waiting') setAway(true);
    if (line !== 'live' || !away) return; // a line that was never cut brings nothing new
    setAway(false);
    again?.();
  }, [line, away, again]);
  return (
    <EmptyState
      page
      title={t('errors.lostTitle')}
      action={
        <Button type="primary" onClick={reload}>
          {t('errors.reload')}
        </Button>
      }
    >
      {away ? t('errors.lostAway') : t('errors.lostFile')}
    </EmptyState>
  );
}

/** Some browsers remember that a file could not be had: only a new page asks for it again. */
export function reload(): void {
  window.location.reload();
}
