import { useInfiniteQuery } from '@tanstack/react-query';
import type { TableColumnsType } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useMay } from '@/api/session';
import { AddSilence } from '@/pages/alarms/AddSilence';
import { type Failing, failingQuery } from '@/pages/alarms/queries';
import { isUntold, whyUntold } from '@/pages/alarms/telling';
import { EmptyState } from '@/parts/EmptyState';
import { DataTable } from '@/parts/table/DataTable';
import { Ago } from '@/parts/time/Ago';
import { Coming } from '@/parts/time/Coming';
import { Instant } from '@/parts/time/Instant';

/** Jobs that failed and have not succeeded since. */
export function Firing() {
  const { t } = useTranslation('alarms');
  const list = useInfiniteQuery(failingQuery);
  const columns: TableColumnsType<Failing> = [
    { title: t('job'), key: 'job', render: (_, one) => <JobName id={one.job_id} name={one.job_desc} /> },
    { title: t('firing.since'), key: 'since', className: 'nowrap', render: (_, one) => <Ago at={one.since} /> },
    { title: t('firing.failures'), key: 'failures', align: 'right', dataIndex: 'failures' },
    {
      title: t('firing.first'),
      key: 'first',
      render: (_, one) => <Link to={`/executions/${one.execution_id}`}>#{one.execution_id}</Link>,
    },
    {
      title: t('firing.told'),
      key: 'told',
      className: 'flexing',
      render: (_, one) => <Told failing={one} />,
    },
    {
      title: <span className="visually-hidden">{t('actions')}</span>,
      key: 'actions',
      fixed: 'end',
      align: 'right',
      render: (_, one) => <AddSilence job={one} />,
    },
  ];
  return (
    <DataTable<Failing>
      label={t('tabs.firing')}
      list={list}
      columns={columns}
      rowKey="job_id"
      empty={<EmptyState title={t('firing.empty')}>{t('firing.emptyHint')}</EmptyState>}
    />
  );
}

/** When somebody was told, and what is the matter with each message nobody has yet. */
function Told({ failing }: { failing: Failing }) {
  const { t } = useTranslation('alarms');
  const may = useMay();
  const untold = whyUntold(failing);
  return (
    <div className="flexing-cell">
      {failing.told_at && <Instant at={failing.told_at} />}
      {untold && <span className="muted">{t(`firing.${untold}`)}</span>}
      {failing.channels.length === 0 && (
        <div className="cell-sub">
          {untold !== 'noChannel' && `${t('firing.noChannel')} `}
          {may('edit') ? <Link to="/alarms/channels">{t('firing.setChannel')}</Link> : t('firing.askForChannel')}
        </div>
      )}
      {failing.messages.filter(isUntold).map((one) => (
        <Untold key={one.channel} message={one} />
      ))}
    </div>
  );
}

function Untold({ message: { channel, state, attempts, next_attempt, error } }: { message: Failing['messages'][0] }) {
  const { t } = useTranslation('alarms');
  const facts = { channel, count: attempts };
  if (state === 'failed') {
    return (
      <div className="alarm-error" title={error ?? undefined}>
        {t('firing.givenUp', facts)}
      </div>
    );
  }
  if (state !== 'waiting' || attempts === 0) return <div className="cell-sub">{t('firing.sending', { channel })}</div>;
  return (
    <div className="alarm-error" title={error ?? undefined}>
      {t('firing.again', facts)} {next_attempt && <Coming at={next_attempt} />}
    </div>
  );
}

export function JobName({ id, name }: { id: number; name: string | null | undefined }) {
  const { t } = useTranslation('alarms');
  return (
    <Link to={`/executions?job_id=${id}`} className="cell-main cell-name" title={name ?? undefined}>
      {name ?? t('removedJob', { id })}
    </Link>
  );
}
