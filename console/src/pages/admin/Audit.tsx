import { DownloadOutlined } from '@ant-design/icons';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Button, Dropdown, Input, type TableColumnsType, Tag } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';
import { address } from '@/api/base';
import { useGroups } from '@/api/groups';
import { changesIn } from '@/pages/admin/changes';
import { deedOf } from '@/pages/admin/deeds';
import { type AuditEntry, type AuditFilters, auditHeadQuery, auditQuery } from '@/pages/admin/queries';
import { CopyButton } from '@/parts/CopyButton';
import { CLEARABLE, ClearableSelect } from '@/parts/clearable';
import { EmptyState } from '@/parts/EmptyState';
import { DataTable } from '@/parts/table/DataTable';
import { Instant } from '@/parts/time/Instant';
import { useUrlFilters } from '@/parts/useUrlFilters';
import { SavedViews } from '@/parts/views/SavedViews';

const FILTERS = ['actor', 'action', 'object', 'since'] as const;
const SPANS = { '1h': 'hour', '24h': 'day', '7d': 'week', '30d': 'month' } as const;

/** Who did what, to what, from where; newest first, and all of it as a file. */
export function Audit() {
  const { t } = useTranslation('admin');
  const groups = useGroups();
  const [filters, change] = useUrlFilters(FILTERS);
  const list = useInfiniteQuery(auditQuery(filters));
  const columns: TableColumnsType<AuditEntry> = [
    { title: t('audit.at'), key: 'at', className: 'nowrap', render: (_, one) => <Instant at={one.at} /> },
    { title: t('audit.actor'), key: 'actor', render: (_, one) => <ActorCell entry={one} /> },
    { title: t('audit.action'), key: 'action', render: (_, one) => <Did action={one.action} /> },
    {
      title: t('audit.object'),
      key: 'object',
      render: (_, one) => (
        <>
          <Kind of={one.object_kind} /> <span className="mono">{one.object_id}</span>
          {one.object_name && (
            <div className="cell-line">
              <Link to={`/jobs/${one.object_id}`} title={one.object_name}>
                {one.object_name}
              </Link>
            </div>
          )}
          {one.group_id !== null && <div className="cell-sub">{groups.name(one.group_id)}</div>}
        </>
      ),
    },
    {
      title: t('audit.address'),
      key: 'address',
      render: (_, one) => <span className="mono">{one.address || '–'}</span>,
    },
    {
      title: '#',
      key: 'seq',
      align: 'right',
      className: 'nowrap',
      render: (_, one) => <span className="muted">{one.seq}</span>,
    },
  ];
  return (
    <>
      <div className="part-bar">
        <FilterBar filters={filters} change={change} />
        <span className="tags">
          <SavedViews />
          <Export filters={filters} />
        </span>
      </div>
      <DataTable<AuditEntry>
        label={t('tabs.audit')}
        list={list}
        columns={columns}
        rowKey="seq"
        expandable={{
          rowExpandable: (one) => changesIn(one.before, one.after).length > 0,
          expandedRowRender: (one) => <Changed entry={one} />,
        }}
        empty={<EmptyState title={t('audit.empty')} />}
      />
      <ChainHead />
    </>
  );
}

/** What was done in words, and as one asks for it. */
function Did({ action }: { action: string }) {
  const { t } = useTranslation('admin');
  const deed = deedOf(action);
  return (
    <>
      {deed && <div>{t(`audit.did.${deed}`)}</div>}
      <div className={deed ? 'mono cell-sub' : 'mono'}>{action}</div>
    </>
  );
}

const ACTOR_KINDS = ['token', 'executor', 'node', 'command', 'stranger'] as const;
/** Who has no name of its own: it is said in the language of the page. */
const UNNAMED = { 'first start': 'firstStart', coordinators: 'coordinators', executors: 'executors' } as const;

function ActorCell({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation('admin');
  const { actor, actor_kind } = entry;
  const kind = ACTOR_KINDS.find((one) => one === actor_kind);
  const own = actor_kind === 'node' || actor_kind === 'executor';
  const unnamed = own && actor in UNNAMED ? UNNAMED[actor as keyof typeof UNNAMED] : null;
  return (
    <span className="tags">
      <span className="cell-main">{unnamed ? t(`audit.unnamed.${unnamed}`) : actor || t('audit.nobody')}</span>
      {actor_kind !== 'user' && <Tag>{kind ? t(`audit.actorKind.${kind}`) : actor_kind}</Tag>}
    </span>
  );
}

function Changed({ entry }: { entry: AuditEntry }) {
  const { t } = useTranslation('admin');
  return (
    <table className="audit-change">
      <thead>
        <tr>
          <th scope="col">{t('audit.field')}</th>
          <th scope="col">{t('audit.before')}</th>
          <th scope="col">{t('audit.after')}</th>
        </tr>
      </thead>
      <tbody>
        {changesIn(entry.before, entry.after).map(({ field, before, after }) => (
          <tr key={field}>
            <th scope="row" className="mono">
              {field}
            </th>
            <td>{before === null ? <span className="muted">–</span> : <pre className="audit-before">{before}</pre>}</td>
            <td>{after === null ? <span className="muted">–</span> : <pre className="audit-after">{after}</pre>}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface FilterProps {
  filters: AuditFilters;
  change: (changes: { [P in keyof AuditFilters]?: string | undefined }) => void;
}

function FilterBar({ filters, change }: FilterProps) {
  const { t } = useTranslation('admin');
  const spans = Object.entries(SPANS).map(([value, name]) => ({ value, label: t(`audit.${name}`) }));
  return (
    <search className="admin-filters" aria-label={t('audit.filters')}>
      {(['actor', 'action', 'object'] as const).map((name) => (
        <Input
          key={`${name} ${filters[name] ?? ''}`}
          className="admin-choice"
          allowClear={CLEARABLE}
          defaultValue={filters[name]}
          placeholder={t(`audit.by.${name}`)}
          aria-label={t(`audit.by.${name}`)}
          onPressEnter={(event) => change({ [name]: event.currentTarget.value.trim() })}
          onClear={() => change({ [name]: undefined })}
          onBlur={(event) => {
            const value = event.currentTarget.value.trim();
            if (value !== (filters[name] ?? '')) change({ [name]: value });
          }}
        />
      ))}
      <ClearableSelect
        className="admin-choice"
        placeholder={t('audit.since')}
        aria-label={t('audit.since')}
        value={filters.since ?? null}
        onChange={(since) => change({ since: since ?? undefined })}
        options={spans}
      />
    </search>
  );
}

function Export({ filters }: { filters: AuditFilters }) {
  const { t } = useTranslation('admin');
  const items = (['csv', 'jsonl'] as const).map((format) => {
    const query = new URLSearchParams({ ...filters, format });
    return {
      key: format,
      label: (
        <a href={address(`/api/v1/audit?${query}`)} download>
          {format.toUpperCase()}
        </a>
      ),
    };
  });
  return (
    <Dropdown trigger={['click']} menu={{ items }}>
      <Button icon={<DownloadOutlined />}>{t('audit.export')}</Button>
    </Dropdown>
  );
}

/** Entries are chained by their digests; whoever noted the last one can prove later that none was changed. */
function ChainHead() {
  const { t } = useTranslation('admin');
  const head = useQuery(auditHeadQuery).data;
  if (!head) return null;
  const noted = `${head.seq}:${head.digest}`;
  return (
    <section className="panel chain-head" aria-label={t('audit.chain')}>
      <strong>{t('audit.chain')}</strong>
      <span className="mono" title={noted}>
        {head.seq}:{head.digest.slice(0, 16)}…
      </span>
      <CopyButton text={noted} label={t('audit.chain')} />
      <span className="muted">{t('audit.chainHint')}</span>
      <code>orth audit verify</code>
    </section>
  );
}

const KINDS = [
  'agent',
  'audit',
  'batch',
  'calendar',
  'channel',
  'execution',
  'executor',
  'group',
  'host',
  'job',
  'node',
  'orchestrator',
  'process',
  'route',
  'script',
  'secret',
  'session',
  'settings',
  'silence',
  'store',
  'token',
  'user',
] as const;

/** What it was done to; a kind that this console does not know by its own name. */
function Kind({ of: kind }: { of: string }) {
  const { t } = useTranslation('admin');
  const known = KINDS.find((one) => one === kind);
  return known ? t(`audit.kind.${known}`) : kind;
}
