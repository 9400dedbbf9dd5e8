// What a dialog says before something is done to many jobs: to which, and to which not.

import { useTranslation } from 'react-i18next';

/** The first of the jobs by name, and how many more there are. */
export function JobNames({ names, more }: { names: readonly string[]; more: number }) {
  const { t } = useTranslation('jobs');
  return (
    <ul className="bulk-names">
      {names.map((name, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: two jobs may have one name, and the list never changes
        <li key={`${index} ${name}`}>{name}</li>
      ))}
      {more > 0 && <li className="muted">{t('bulk.more', { count: more })}</li>}
    </ul>
  );
}

/** How many jobs starting or stopping would not change. */
export function Skipped({ deed, count }: { deed: 'start' | 'stop'; count: number }) {
  const { t } = useTranslation('jobs');
  return <p className="muted">{t(`bulk.skipped.${deed}`, { count })}</p>;
}
