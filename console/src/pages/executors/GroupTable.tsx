import { useQuery, useQueryClient } from '@tanstack/react-query';
import { App, Skeleton, Switch, type TableColumnsType } from 'antd';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { exactText, laidOut } from '@/api/exactJson';
import { handlersQuery } from '@/api/jobs';
import { Problem } from '@/api/problem';
import { useMay } from '@/api/session';
import type { Executor, Group, Handler } from '@/api/types';
import { GroupActions } from '@/pages/executors/GroupActions';
import { DIALECTS } from '@/pages/executors/groupForm';
import { Ping } from '@/pages/executors/InstanceActions';
import { onlineIn } from '@/pages/executors/presence';
import { allowScripts } from '@/pages/executors/queries';
import { EmptyState } from '@/parts/EmptyState';
import { ProblemNotice, useSaying } from '@/parts/ProblemNotice';
import { SmallTable } from '@/parts/SmallTable';

interface Props {
  groups: Group[] | undefined;
  executors: Executor[];
}

export function GroupTable({ groups, executors }: Props) {
  const { t } = useTranslation('executors');
  const columns = useColumns(executors);
  return (
    <SmallTable<Group>
      label={t('groups.title')}
      rows={groups}
      rowKey="id"
      columns={columns}
      expandable={{ expandedRowRender: (group) => <More group={group} /> }}
      empty={
        <EmptyState title={t('groups.none')} snippet="orth executor jobs.py">
          {t('groups.hint')}
        </EmptyState>
      }
    />
  );
}

function useColumns(executors: Executor[]): TableColumnsType<Group> {
  const { t } = useTranslation('executors');
  return useMemo(
    () => [
      {
        title: t('groups.name'),
        key: 'name',
        render: (_, group) => (
          <>
            <span className="cell-main">{group.title || group.app_name}</span>
            <div className="cell-sub mono">{group.app_name}</div>
          </>
        ),
      },
      {
        title: t('groups.online'),
        key: 'online',
        render: (_, group) => <Online group={group} executors={executors} />,
      },
      {
        title: t('groups.addresses'),
        key: 'addresses',
        render: (_, group) =>
          group.address_type === 1
            ? t('groups.manual', { count: group.address_list.length })
            : t('groups.automatic', { count: group.address_list.length }),
      },
      {
        title: t('groups.dialect'),
        key: 'dialect',
        render: (_, { dialect }) => {
          const known = DIALECTS.find((one) => one === dialect);
          return known ? t(`dialect.${known}`) : dialect;
        },
      },
      { title: t('groups.scripts'), key: 'scripts', render: (_, group) => <Scripts group={group} /> },
      {
        title: <span className="visually-hidden">{t('instances.actions')}</span>,
        key: 'actions',
        fixed: 'end',
        align: 'right',
        className: 'nowrap',
        render: (_, group) => <GroupActions group={group} />,
      },
    ],
    [t, executors],
  );
}

function Online({ group, executors }: { group: Group; executors: Executor[] }) {
  const { t } = useTranslation('executors');
  if (group.address_type === 1) return <span className="muted">{t('groups.unwatched')}</span>;
  const { alive, all } = onlineIn(group.app_name, executors);
  return <span className={alive === 0 ? 'none-online' : undefined}>{`${alive}/${all}`}</span>;
}

/** Whether code written in the console may run there; who may not decide it only reads it. */
function Scripts({ group }: { group: Group }) {
  const { t } = useTranslation('executors');
  const { message } = App.useApp();
  const say = useSaying();
  const queries = useQueryClient();
  const may = useMay();
  const [busy, setBusy] = useState(false);
  const { scripts_allowed: allowed } = group;
  if (!may('administer')) return allowed ? t('groups.scriptsOn') : t('groups.scriptsOff');
  async function change(wanted: boolean) {
    setBusy(true);
    try {
      await allowScripts(group, wanted);
      await queries.invalidateQueries({ queryKey: ['groups'] });
    } catch (error) {
      message.error(error instanceof Problem ? say(error).title : t('groups.unchanged'));
    } finally {
      setBusy(false);
    }
  }
  return (
    <Switch
      size="small"
      checked={allowed}
      loading={busy}
      onChange={change}
      aria-label={t('groups.scriptsFor', { group: group.app_name })}
    />
  );
}

/** Its addresses, if somebody wrote them down: nobody watches those, so who may calls them. And what it offers. */
function More({ group }: { group: Group }) {
  const { t } = useTranslation('executors');
  const may = useMay();
  const { app_name, address_list: addresses } = group;
  return (
    <>
      {group.address_type === 1 && (
        <ul className="handlers" aria-label={t('groups.addressesOf', { group: app_name })}>
          {addresses.map((address) => (
            <li key={address}>
              <span className="mono">{address}</span>
              {may('operate', group.id) && <Ping executor={{ app_name, address }} />}
            </li>
          ))}
        </ul>
      )}
      <Handlers group={group} />
    </>
  );
}

function Handlers({ group }: { group: Group }) {
  const { t } = useTranslation('executors');
  const handlers = useQuery(handlersQuery(group.id));
  if (handlers.isPending) return <Skeleton active title={false} paragraph={{ rows: 2 }} />;
  if (handlers.isError) return <ProblemNotice error={handlers.error} />;
  if (handlers.data.items.length === 0) return <p className="muted">{t('handlers.none')}</p>;
  return (
    <ul className="handlers" aria-label={t('handlers.title', { group: group.app_name })}>
      {handlers.data.items.map((one) => (
        <li key={one.name}>
          <HandlerText handler={one} />
        </li>
      ))}
    </ul>
  );
}

function HandlerText({ handler }: { handler: Handler }) {
  const { t } = useTranslation('executors');
  return (
    <>
      <span className="mono cell-main">{handler.name}</span>
      {handler.schedule && <span className="mono muted">{handler.schedule}</span>}
      {handler.description && <span className="muted">{handler.description}</span>}
      {handler.params_schema && (
        <details>
          <summary>{t('handlers.parameters')}</summary>
          <pre>{laidOut(exactText(handler.params_schema))}</pre>
        </details>
      )}
    </>
  );
}
