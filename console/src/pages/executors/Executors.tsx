import { useQuery } from '@tanstack/react-query';
import { Alert } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '@/api/session';
import { usePolling } from '@/live/LiveProvider';
import { AddGroup } from '@/pages/executors/GroupActions';
import { GroupTable } from '@/pages/executors/GroupTable';
import { InstanceTable } from '@/pages/executors/InstanceTable';
import { executorsQuery, groupsQuery, removedQuery, unclaimedQuery } from '@/pages/executors/queries';
import { UnclaimedApps } from '@/pages/executors/UnclaimedApps';
import { Page, Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import './executors.css';

/** Groups and what they offer; executors, whether they live, and who reaches them. */
export function Executors() {
  const { t } = useTranslation('executors');
  const everything = useMay()('view');
  const executors = useQuery({ ...executorsQuery, refetchInterval: usePolling(5_000) }); // beats and loads
  const groups = useQuery(groupsQuery);
  const unclaimed = useQuery({ ...unclaimedQuery, enabled: everything });
  const removed = useQuery(removedQuery);
  const failed = [executors, groups].find((one) => one.isError && !one.data);
  return (
    <Page title={t('title')} intro={t('intro')}>
      {failed && <ProblemNotice error={failed.error} retry={() => void failed.refetch()} />}
      {executors.data?.fromMemory && <Alert type="warning" showIcon title={t('fromMemory')} />}
      <div className="page-stack">
        <UnclaimedApps items={unclaimed.data?.items ?? []} />
        <Panel title={t('groups.title')} extra={<AddGroup />} flush>
          <GroupTable groups={groups.data?.items} executors={executors.data?.items ?? []} />
        </Panel>
        <Panel title={t('instances.title')} flush>
          <InstanceTable
            executors={executors.data?.items}
            removed={removed.data?.items ?? []}
            groups={groups.data?.items ?? []}
            answeredAt={executors.data?.answeredAt ?? 0}
          />
        </Panel>
      </div>
    </Page>
  );
}
