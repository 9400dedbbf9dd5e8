import { useTranslation } from 'react-i18next';
import type { Told } from '@/pages/lifecycle/registry';
import { SERVICE_LOOKS } from '@/pages/lifecycle/statuses';
import { Badge } from '@/parts/Badge';
import { EmptyState } from '@/parts/EmptyState';
import { Instant } from '@/parts/time/Instant';

/** What happened since the page was opened, the newest first. */
export function EventFeed({ feed }: { feed: readonly Told[] }) {
  const { t } = useTranslation('lifecycle');
  if (feed.length === 0) return <EmptyState title={t('feed.none')}>{t('feed.hint')}</EmptyState>;
  return (
    <ol className="event-feed" aria-label={t('feed.title')}>
      {feed.map((one) => (
        <li key={one.seq}>
          <span className="muted nowrap">
            <Instant at={one.at} />
          </span>
          <span>
            <span className="cell-main">{one.name}</span> {t(`happened.${one.kind}_${one.happening}`)}
            {one.happening === 'status_changed' && (
              <>
                {' '}
                <Badge look={SERVICE_LOOKS[one.status]}>{t(`status.${one.status}`)}</Badge>
              </>
            )}
            <span className="visually-hidden">{` #${one.seq}`}</span>
          </span>
        </li>
      ))}
    </ol>
  );
}
