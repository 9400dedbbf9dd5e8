import { useTranslation } from 'react-i18next';
import { counts, type Row } from '@/pages/timeline/model';
import { LOOKS, STATUSES } from '@/status/statuses';

/** What the colours mean, and how many there are of each. */
export function Legend({ rows }: { rows: Row[] }) {
  const { t } = useTranslation(['timeline', 'status']);
  const found = counts(rows);
  return (
    <figcaption className="timeline-legend muted">
      {STATUSES.filter((status) => found.has(status)).map((status) => (
        <span key={status}>
          <i className={`status-${LOOKS[status].colour}${LOOKS[status].outlined ? ' is-hollow' : ''}`} />
          {t(`status:name.${status}`)} {found.get(status)}
        </span>
      ))}
      {rows.some((row) => row.bars.some((bar) => bar.waits)) && (
        <span>
          <i className="timeline-legend-wait" />
          {t('waits')}
        </span>
      )}
      <span>
        <i className="timeline-legend-fire" />
        {t('toCome')}
      </span>
      <span className="timeline-hint">{t('hint')}</span>
    </figcaption>
  );
}
