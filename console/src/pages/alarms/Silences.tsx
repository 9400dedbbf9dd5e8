import { useInfiniteQuery, useQuery, useQueryClient } from '@tanstack/react-query';
import { Switch, type TableColumnsType, Tag } from 'antd';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, got } from '@/api/client';
import { useGroups } from '@/api/groups';
import { jobNameQuery } from '@/api/jobs';
import { useMay, useMaySomewhere } from '@/api/session';
import { usePolling } from '@/live/LiveProvider';
import { AddSilence } from '@/pages/alarms/AddSilence';
import { type Silence, silencesQuery } from '@/pages/alarms/queries';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { EmptyState } from '@/parts/EmptyState';
import { Mark } from '@/parts/Mark';
import { DataTable } from '@/parts/table/DataTable';
import { Ago } from '@/parts/time/Ago';
import { Instant } from '@/parts/time/Instant';
import { useNow } from '@/parts/time/useNow';

/** What is not told for a while; failures are counted all the same. */
export function Silences() {
  const { t } = useTranslation('alarms');
  const may = useMaySomewhere();
  const [over, setOver] = useState(false);
  const list = useInfiniteQuery({ ...silencesQuery(over), refetchInterval: usePolling(10_000) });
  const columns: TableColumnsType<Silence> = [
    { title: t('silences.what'), key: 'what', render: (_, one) => <What silence={one} /> },
    { title: t('silences.reason'), key: 'reason', dataIndex: 'reason' },
    { title: t('silences.from'), key: 'from', className: 'nowrap', render: (_, one) => <Instant at={one.starts_at} /> },
    { title: t('silences.until'), key: 'until', className: 'nowrap', render: (_, one) => <Ago at={one.ends_at} /> },
    { title: t('silences.by'), key: 'by', dataIndex: 'actor' },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, one) => <EndSilence silence={one} />,
    },
  ];
  return (
    <>
      <div className="part-bar">
        {/* biome-ignore lint/a11y/noLabelWithoutControl: the switch is inside */}
        <label>
          <Switch size="small" checked={over} onChange={setOver} /> {t('silences.alsoOver')}
        </label>
        <AddSilence />
      </div>
      <DataTable<Silence>
        label={t('tabs.silences')}
        list={list}
        columns={columns}
        rowKey="id"
        empty={<EmptyState title={t('silences.empty')}>{may('operate') && t('silences.emptyHint')}</EmptyState>}
      />
    </>
  );
}

function useJobOf({ job_id }: Silence) {
  return useQuery({ ...jobNameQuery(job_id ?? 0), enabled: job_id !== null, retry: false }).data;
}

function What({ silence }: { silence: Silence }) {
  const { t } = useTranslation('alarms');
  const groups = useGroups();
  const job = useJobOf(silence);
  if (silence.job_id !== null) {
    return <span className="cell-main">{job?.name ?? t('removedJob', { id: silence.job_id })}</span>;
  }
  if (silence.job_group !== null) {
    return (
      <span className="tags">
        <span className="cell-main">{groups.name(silence.job_group)}</span>
        <Tag>{t('silences.group')}</Tag>
      </span>
    );
  }
  return <Mark colour="orange">{t('silences.everything')}</Mark>;
}

function EndSilence({ silence }: { silence: Silence }) {
  const { t } = useTranslation('alarms');
  const queries = useQueryClient();
  const may = useMay();
  const now = useNow();
  const job = useJobOf(silence);
  const group = silence.job_group ?? job?.group;
  const ended = silence.ends_at !== null && Date.parse(silence.ends_at) <= now;
  if (ended || !may('operate', group ?? undefined)) return null;
  return (
    <ConfirmAction
      label={t('silences.end')}
      title={t('silences.endTitle')}
      confirm={t('silences.end')}
      button={{ size: 'small', type: 'text' }}
      act={async () => {
        const path = { silence_id: silence.id };
        await got(api.DELETE('/api/v1/alarms/silences/{silence_id}', { params: { path } }));
        await queries.invalidateQueries({ queryKey: ['alarms'] });
        return t('silences.ended');
      }}
    >
      <p>{silence.reason}</p>
    </ConfirmAction>
  );
}
