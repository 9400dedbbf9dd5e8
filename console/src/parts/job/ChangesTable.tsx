import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import type { DraftField } from '@/parts/job/draft';
import { useFieldText } from '@/parts/job/fieldText';
import './job.css';

interface Props {
  label: string;
  heads: readonly string[];
  rows: readonly { field: DraftField; values: readonly unknown[]; choice?: ReactNode }[];
}

/** Fields and their values side by side. The last value is what will be. */
export function ChangesTable({ label, heads, rows }: Props) {
  const { t } = useTranslation('jobEditor');
  const text = useFieldText();
  const chosen = rows.some(({ choice }) => choice);
  return (
    <div className="changes">
      <table aria-label={label}>
        <thead>
          <tr>
            <th scope="col">{t('review.field')}</th>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
            {chosen && <th scope="col">{t('conflict.choice')}</th>}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ field, values, choice }) => (
            <tr key={field}>
              <th scope="row">{t(`fields.${field}`)}</th>
              {values.map((value, index) => (
                <td key={heads[index]} className={index === 0 && values.length > 1 ? 'was' : undefined}>
                  {text(field, value)}
                </td>
              ))}
              {chosen && <td>{choice}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
