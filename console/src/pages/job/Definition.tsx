import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { laidOut } from '@/api/exactJson';
import type { Job } from '@/api/types';
import { DRAFT_FIELDS, type DraftField, defaults, draftOf, same } from '@/parts/job/draft';
import { useFieldText } from '@/parts/job/fieldText';
import { Panel } from '@/parts/Page';

/** Shown elsewhere on the page, or a matter of the form alone. */
const ELSEWHERE: readonly DraftField[] = [
  'job_group',
  'job_desc',
  'author',
  'tags',
  'schedule_type',
  'schedule_conf',
  'timezone',
  'glue_source',
  'glue_remark',
];
const ALWAYS: readonly DraftField[] = ['executor_handler', 'executor_route_strategy', 'executor_block_strategy'];

/** The definition: what is chosen, and nothing that is as it always is. */
export function Definition({ job }: { job: Job }) {
  const { t } = useTranslation(['jobs', 'jobEditor']);
  const text = useFieldText();
  const draft = draftOf(job);
  const plain = defaults(job.job_group);
  const said = DRAFT_FIELDS.filter(
    (field) => !ELSEWHERE.includes(field) && (ALWAYS.includes(field) || !same(draft[field], plain[field])),
  );
  return (
    <Panel
      title={t('definition.title')}
      extra={<span className="muted">{t('definition.version', { n: job.version })}</span>}
    >
      <dl className="job-facts">
        {said.map((field) => (
          <Fact key={field} name={t(`jobEditor:fields.${field}`)}>
            {field === 'executor_param' ? (
              <pre
                // biome-ignore lint/a11y/noNoninteractiveTabindex: a long parameter scrolls, also by keyboard
                tabIndex={0}
              >
                {laidOut(job.executor_param)}
              </pre>
            ) : (
              text(field, draft[field])
            )}
          </Fact>
        ))}
      </dl>
      {job.glue_type !== 'BEAN' && <Link to={`/scripts/${job.id}`}>{t('definition.code')}</Link>}
    </Panel>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
