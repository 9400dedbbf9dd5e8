import { useQuery } from '@tanstack/react-query';
import { Alert } from 'antd';
import { useTranslation } from 'react-i18next';
import { useMay } from '@/api/session';
import { usePolling } from '@/live/LiveProvider';
import { ExecutorKeys } from '@/pages/executors/ExecutorKeys';
import { AddGroup } from '@/pages/executors/GroupActions';
import { GroupTable } from '@/pages/executors/GroupTable';
import { InstanceTable } from '@/pages/executors/InstanceTable';
import { executorsWith, groupsWith } from '@/pages/executors/matching';
import { askAgainIn } from '@/pages/executors/presence';
import {
  executorKeysQuery,
  executorsQuery,
  groupsQuery,
  removedQuery,
  unclaimedQuery,
} from '@/pages/executors/queries';
import { UnclaimedApps } from '@/pages/executors/UnclaimedApps';
import { Page, Panel } from '@/parts/Page';
import { ProblemNotice } from '@/parts/ProblemNotice';
import { SearchField } from '@/parts/SearchField';
import { USUAL } from '@/parts/time/staleness';
import { useUrlFilters } from '@/parts/useUrlFilters';
import { SavedViews } from '@/parts/views/SavedViews';
import './executors.css';

const FILTERS = ['text'] as const;

/** Groups and what they offer; executors, whether they live, and who reaches them. */
export function Executors() {
  const { t } = useTranslation('executors');
  const may = useMay();
  const everything = may('view');
  const administers = may('administer');
  const [{ text }, change] = useUrlFilters(FILTERS);
  const polling = usePolling(5_000);
  const executors = useQuery({
    ...executorsQuery, // beats and loads
    refetchInterval: ({ state: { data } }) => polling && askAgainIn(data?.items ?? [], data?.rules ?? USUAL),
  });
  const groups = useQuery(groupsQuery);
  const unclaimed = useQuery({ ...unclaimedQuery, enabled: everything });
  const removed = useQuery({ ...removedQuery, refetchInterval: polling });
  const keys = useQuery({ ...executorKeysQuery, enabled: administers, refetchInterval: polling });
  const failed = [executors, groups].find((one) => one.isError && !one.data);
  const known = groups.data?.items;
  const shown = executors.data && executorsWith(text, executors.data.items, known ?? []);
  return (
    <Page title={t('title')} intro={t('intro')} actions={<SavedViews />}>
      <search className="filter-bar" aria-label={t('filters.label')}>
        <SearchField
          className="filter-text"
          label={t('filters.text')}
          value={text}
          onSearch={(wanted) => change({ text: wanted })}
        />
      </search>
      {failed ? (
        <ProblemNotice error={failed.error} retry={() => void failed.refetch()} />
      ) : (
        <>
          {executors.data?.fromMemory && <Alert type="warning" showIcon title={t('fromMemory')} />}
          <div className="page-stack">
            <UnclaimedApps items={unclaimed.data?.items ?? []} />
            <ExecutorKeys items={administers ? (keys.data?.items ?? []) : []} />
            <Panel title={t('groups.title')} extra={<AddGroup />} flush>
              <GroupTable groups={known && groupsWith(text, known)} executors={executors.data?.items ?? []} />
            </Panel>
            <Panel title={t('instances.title')} flush>
              <InstanceTable
                executors={shown}
                removed={executorsWith(text, removed.data?.items ?? [], known ?? [])}
                groups={known ?? []}
                answeredAt={executors.data?.answeredAt ?? 0}
                rules={executors.data?.rules ?? USUAL}
              />
            </Panel>
          </div>
        </>
      )}
    </Page>
  );
}
