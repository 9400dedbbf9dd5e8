import { useTranslation } from 'react-i18next';
import type { Wrong } from '@/parts/job/schema';

/** What is wrong with an argument, in words, with the place in it where that is. */
export function useWrongText(): (wrong: Omit<Wrong, 'name'>) => string {
  const { t } = useTranslation('jobs');
  return ({ trouble, field, place = [], facts }) => {
    const said = t(`param.${trouble}`, { ...field, ...facts });
    if (place.length === 0) return said;
    const steps = place.map((step) =>
      typeof step === 'number' ? t('param.value', { number: step + 1 }) : t('param.member', { key: step }),
    );
    return t('param.at', { place: steps.join(' › '), said });
  };
}
