import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Skeleton } from 'antd';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import type { Script } from '@/api/scripts';
import { Compare } from '@/pages/scripts/Compare';
import { type Version, versionsQuery } from '@/pages/scripts/queries';
import { RemarkField } from '@/pages/scripts/SaveScript';
import { EmptyState } from '@/parts/EmptyState';
import { FormDialog } from '@/parts/FormDialog';
import { Mark } from '@/parts/Mark';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { Ago } from '@/parts/time/Ago';

interface Props {
  script: Script;
  etag: string;
  draft: string | null;
  writable: boolean;
  forget: () => void;
}

/** What was saved, newest first, by whom and why; any two compared, and any of them brought back. */
export function Versions({ script, etag, draft, writable, forget }: Props) {
  const { t } = useTranslation('scripts');
  const versions = useQuery(versionsQuery(script.job_id));
  if (versions.isPending) return <Skeleton active />;
  if (versions.isError) return <ProblemNotice error={versions.error} />;
  const { items } = versions.data;
  if (items.length === 0) return <EmptyState title={t('versions.empty')} />;
  return (
    <ol className="versions">
      {items.map((version) => (
        <li key={version.id}>
          <div>
            <span className="cell-main">{version.glue_remark}</span>{' '}
            {version.id === script.version_id && <Mark colour="green">{t('versions.now')}</Mark>}
            <div className="cell-sub">
              {version.author} · <Ago at={version.saved_at} /> · #{version.id}
            </div>
          </div>
          <span className="row-actions">
            <Compare script={script} versions={items} version={version} draft={draft} />
            {writable && version.id !== script.version_id && (
              <RollBack script={script} etag={etag} version={version} forget={forget} />
            )}
          </span>
        </li>
      ))}
    </ol>
  );
}

interface RollBackProps {
  script: Script;
  etag: string;
  version: Version;
  forget: () => void;
}

function RollBack({ script, etag, version, forget }: RollBackProps) {
  const { t } = useTranslation('scripts');
  const queries = useQueryClient();
  return (
    <FormDialog<{ remark: string }>
      label={t('versions.rollBack')}
      title={t('versions.rollBackTitle', { id: version.id })}
      confirm={t('versions.rollBack')}
      button={{ size: 'small', type: 'text' }}
      initial={{ remark: t('versions.rollBackRemark', { id: version.id }) }}
      act={async ({ remark }) => {
        await got(
          api.POST('/api/v1/scripts/{job_id}/rollback', {
            params: { path: { job_id: script.job_id }, header: { 'if-match': etag } },
            body: { version_id: version.id, remark },
          }),
        );
        await queries.invalidateQueries({ queryKey: ['scripts'] });
        forget();
        return t('versions.rolledBack', { id: version.id });
      }}
    >
      <p>{t('versions.rollBackText')}</p>
      <RemarkField />
    </FormDialog>
  );
}
