import { useTranslation } from 'react-i18next';
import { useShownNow } from '@/live/LiveProvider';
import { ageText, type BeatRules, GRADE_COLOURS, gradeOf } from '@/parts/time/staleness';
import '@/status/status.css';

interface Props {
  at: number | null;
  gone?: boolean;
  rules?: BeatRules;
  /** What to say of one that is too late, where that is not to be removed. */
  tooLate?: string;
  /** Without words, where a badge beside it has them. */
  plain?: boolean;
}

/** The age of the last beat; it counts by itself, and says when beats are missing. */
export function BeatAge({ at, gone = false, rules, tooLate, plain = false }: Props) {
  const { t } = useTranslation('common');
  const now = useShownNow();
  if (at === null) return <span className="muted">–</span>;
  const age = Math.max(0, now - at);
  const grade = gradeOf(age, rules);
  const colour = gone ? null : GRADE_COLOURS[grade];
  const late = grade === 'fresh' ? null : grade;
  return (
    <span className={`beat-age nowrap${colour ? ` status-${colour}` : gone ? ' muted' : ''}`}>
      {ageText(age)}
      {colour && late && !plain && (
        <span className="cell-sub"> · {(late === 'missed90' && tooLate) || t(`beat.${late}`)}</span>
      )}
    </span>
  );
}
