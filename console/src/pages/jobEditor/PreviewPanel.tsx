import { Alert, Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { type Preview, pointerOf, usePreview } from '@/pages/jobEditor/preview';
import { FireList } from '@/parts/job/FireList';
import { Panel } from '@/parts/Page';
import { useSaid } from '@/parts/ProblemNotice';

const COUNTED_TO = 10_000;

/** The next ten fires of what is being typed. */
export function PreviewPanel() {
  const { t } = useTranslation(['jobEditor', 'jobs']);
  const { nothing, shown, problem } = usePreview();
  return (
    <Panel title={t('jobs:fires.title')} flush extra={shown && <span className="muted">{shown.timezone}</span>}>
      <div aria-live="polite">
        {problem && <Refusal problem={problem} />}
        {nothing && <p className="panel-line muted">{t(`preview.${nothing}`)}</p>}
        {!nothing && !problem && !shown && <Skeleton active title={false} className="panel-body" />}
        {shown && (
          <>
            {shown.per_day !== null && (
              <p className="panel-line muted">
                {shown.per_day >= COUNTED_TO
                  ? t('preview.many', { count: shown.per_day })
                  : t('preview.perDay', { count: shown.per_day })}
              </p>
            )}
            <FireList fires={shown.items} zone={shown.timezone} />
          </>
        )}
      </div>
    </Panel>
  );
}

function Refusal({ problem }: { problem: NonNullable<Preview['problem']> }) {
  const pointer = pointerOf(problem);
  const { title, description } = useSaid(problem);
  return (
    <div className="panel-body">
      <Alert
        type="error"
        title={title}
        description={
          <>
            {pointer && <pre className="pointer">{pointer}</pre>}
            {description}
          </>
        }
      />
    </div>
  );
}
