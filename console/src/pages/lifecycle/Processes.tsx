import { InfoCircleOutlined } from '@ant-design/icons';
import { useQueryClient } from '@tanstack/react-query';
import { Button, type TableColumnsType, Tooltip } from 'antd';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useMay } from '@/api/session';
import type { KeptProcess } from '@/api/types';
import { useShownNow } from '@/live/LiveProvider';
import { lookOf, type ProcessDeed, stateOf, wishesFor } from '@/pages/lifecycle/processes';
import { askProcess, processesQuery, useProcesses } from '@/pages/lifecycle/queries';
import { Badge } from '@/parts/Badge';
import { ConfirmAction } from '@/parts/ConfirmAction';
import { Panel } from '@/parts/Page';
import { SmallTable } from '@/parts/SmallTable';
import { BeatAge } from '@/parts/time/BeatAge';
import { beatOn, degraded, gradeOf } from '@/parts/time/staleness';

/** What `orth up` keeps, with what can be asked of it; nothing where something else keeps the processes. */
export function Processes() {
  const { t } = useTranslation('lifecycle');
  const columns = useColumns();
  const kept = useProcesses().data;
  if (!kept?.supervised) return null;
  return (
    <Panel title={t('processes.title')} extra={<span className="muted">{kept.items.length}</span>} flush>
      <SmallTable<KeptProcess>
        label={t('processes.title')}
        rows={kept.items}
        rowKey="name"
        columns={columns}
        empty={null}
      />
    </Panel>
  );
}

/** Says why nothing can be started here, where that is so. */
export function NotSupervised() {
  const { t } = useTranslation('lifecycle');
  const kept = useProcesses().data;
  if (!kept || kept.supervised) return null;
  return (
    <Tooltip title={t('processes.none')} trigger={['hover', 'click']}>
      <Button type="text" shape="circle" icon={<InfoCircleOutlined />} aria-label={t('processes.label')} />
    </Tooltip>
  );
}

function useColumns(): TableColumnsType<KeptProcess> {
  const { t } = useTranslation('lifecycle');
  const may = useMay();
  const administers = may('administer');
  return useMemo(
    () => [
      {
        title: t('processes.name'),
        key: 'name',
        render: (_, one) => (
          <>
            <span className="cell-main">{one.name}</span>
            {one.here && <span className="muted"> · {t('processes.here')}</span>}
            <div className="cell-sub mono">{one.address}</div>
          </>
        ),
      },
      { title: t('processes.state'), key: 'state', render: (_, one) => <State process={one} /> },
      { title: t('processes.restarts'), key: 'restarts', dataIndex: 'restarts', align: 'right' },
      ...(administers
        ? [
            {
              title: <span className="visually-hidden">{t('processes.actions')}</span>,
              key: 'actions',
              align: 'right' as const,
              className: 'nowrap',
              render: (_: unknown, one: KeptProcess) => <Actions process={one} />,
            },
          ]
        : []),
    ],
    [t, administers],
  );
}

function State({ process: one }: { process: KeptProcess }) {
  const { t } = useTranslation('lifecycle');
  const state = stateOf(one.state);
  const beside = useBeside(one);
  const now = useShownNow();
  const grade = one.beat === null ? 'fresh' : gradeOf(one.beat * 1_000);
  return (
    <>
      <Badge look={degraded(lookOf(state), grade)}>{state ? t(`processes.states.${state}`) : one.state}</Badge>
      {beside && <div className="cell-sub">{beside}</div>}
      {grade !== 'fresh' && (
        <div>
          <BeatAge at={beatOn(now, one.beat ?? 0)} />
        </div>
      )}
    </>
  );
}

function useBeside({ leader, again_in, waits_for }: KeptProcess): string | null {
  const { t } = useTranslation('lifecycle');
  if (leader) return t('processes.leads');
  if (again_in !== null) return t('processes.again', { seconds: Math.round(again_in) });
  return waits_for.length > 0 ? t('processes.waitsFor', { names: waits_for.join(', ') }) : null;
}

function Actions({ process: one }: { process: KeptProcess }) {
  return (
    <span className="row-actions">
      {wishesFor(one.state).map((deed) => (
        <Action key={deed} process={one} deed={deed} />
      ))}
    </span>
  );
}

function Action({ process: { name, here }, deed }: { process: KeptProcess; deed: ProcessDeed }) {
  const { t } = useTranslation('lifecycle');
  const queries = useQueryClient();
  return (
    <ConfirmAction
      label={t(`processes.${deed}`)}
      title={t(`processes.title_${deed}`, { name })}
      confirm={t(`processes.${deed}`)}
      danger={deed === 'stop'}
      button={{ size: 'small' }}
      act={async () => {
        await askProcess(name, deed);
        await queries.invalidateQueries({ queryKey: processesQuery.queryKey });
        return t('processes.done', { name });
      }}
    >
      <p>{t(`processes.text_${deed}`)}</p>
      {here && deed !== 'start' && <p>{t('processes.hereText')}</p>}
    </ConfirmAction>
  );
}
