import { useInfiniteQuery } from '@tanstack/react-query';
import { type TableColumnsType, Tag } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { useGroups } from '@/api/groups';
import { type AlarmRule, rulesQuery } from '@/pages/alarms/queries';
import { saidItself } from '@/pages/alarms/telling';
import { EmptyState } from '@/parts/EmptyState';
import { DataTable } from '@/parts/table/DataTable';
import { duration } from '@/parts/time/format';

type Part = AlarmRule['own'][number];

/** What is told of each job and by which channels; what it does not say itself it inherits, and that is marked. */
export function Rules() {
  const { t } = useTranslation('alarms');
  const groups = useGroups();
  const list = useInfiniteQuery(rulesQuery);
  const columns: TableColumnsType<AlarmRule> = [
    {
      title: t('job'),
      key: 'job',
      render: (_, one) => (
        <>
          <Link to={`/jobs/${one.job_id}`} className="cell-main cell-name" title={one.job_desc}>
            {one.job_desc}
          </Link>
          <div className="cell-sub cell-line">{groups.name(one.job_group)}</div>
        </>
      ),
    },
    {
      title: t('rules.channels'),
      key: 'channels',
      render: (_, one) => (
        <Said rule={one} parts={['channels', 'mail']}>
          {one.channels.length === 0 ? (
            <span className="nobody-told">{t('rules.nobody')}</span>
          ) : (
            one.channels.join(', ')
          )}
        </Said>
      ),
    },
    {
      title: t('rules.repeat'),
      key: 'repeat',
      render: (_, one) => (
        <Said rule={one} parts={['repeat']}>
          {one.repeat === 0 ? t('rules.never') : duration(one.repeat * 1_000)}
        </Said>
      ),
    },
    {
      title: t('rules.each'),
      key: 'each',
      render: (_, one) => (
        <Said rule={one} parts={['each']}>
          {one.each ? t('rules.eachYes') : t('rules.eachNo')}
        </Said>
      ),
    },
    {
      title: t('rules.resolved'),
      key: 'resolved',
      render: (_, one) => (
        <Said rule={one} parts={['resolved']}>
          {one.resolved ? t('rules.yes') : t('rules.no')}
        </Said>
      ),
    },
    {
      title: <span className="visually-hidden">{t('rules.silence')}</span>,
      key: 'silence',
      render: (_, one) => one.silenced && <Tag>{t('rules.silenced')}</Tag>,
    },
  ];
  return (
    <>
      <p className="muted">{t('rules.intro')}</p>
      <DataTable<AlarmRule>
        label={t('tabs.rules')}
        list={list}
        columns={columns}
        rowKey="job_id"
        empty={<EmptyState title={t('rules.empty')} />}
      />
    </>
  );
}

/** A value, and whether the job says so itself or inherits it. */
function Said({ rule, parts, children }: { rule: AlarmRule; parts: Part[]; children: React.ReactNode }) {
  const { t } = useTranslation('alarms');
  const own = saidItself(rule, ...parts);
  return (
    <>
      {children}
      <div className={own ? 'cell-sub rule-own' : 'cell-sub'}>{own ? t('rules.own') : t('rules.inherited')}</div>
    </>
  );
}
