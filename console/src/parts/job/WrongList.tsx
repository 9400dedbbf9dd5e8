import { useTranslation } from 'react-i18next';
import type { Wrong } from '@/parts/job/schema';

/** What is wrong with a parameter, argument by argument. */
export function WrongList({ wrong }: { wrong: readonly Wrong[] }) {
  const { t } = useTranslation('jobs');
  return (
    <ul className="wrong-list">
      {wrong.map(({ name, trouble, field }) => (
        <li key={name}>
          {name !== null && <span className="mono">{name}: </span>}
          {t(`param.${trouble}`, { ...field })}
        </li>
      ))}
    </ul>
  );
}
