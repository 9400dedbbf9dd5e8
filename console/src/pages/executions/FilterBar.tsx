import { CloseOutlined } from '@ant-design/icons';
import { useQuery } from '@tanstack/react-query';
import { Button, Tag } from 'antd';
import { useTranslation } from 'react-i18next';
import { groupsQuery } from '@/api/groups';
import type { Cause } from '@/api/types';
import { ExecutorChoice } from '@/pages/executions/ExecutorChoice';
import { asQuery, CAUSES, type ExecutionFilters, FILTERS, type FilterName } from '@/pages/executions/filters';
import { ClearableSelect } from '@/parts/clearable';
import { JobChoice } from '@/parts/job/JobChoice';
import { SearchField } from '@/parts/SearchField';
import { type ListedStatus, LOOKS, STATUSES } from '@/status/statuses';

interface Props {
  filters: ExecutionFilters;
  change: (changes: { [P in FilterName]?: string | undefined }) => void;
}

const SPANS = { '1h': 'hour', '24h': 'day', '7d': 'week', '30d': 'month' } as const;

/** Filters apply at once and stay in the address. */
export function FilterBar({ filters, change }: Props) {
  const { t } = useTranslation(['executions', 'status']);
  const groups = useQuery(groupsQuery).data?.items ?? [];
  const any = FILTERS.some((name) => filters[name]);
  return (
    <search className="filter-bar" aria-label={t('filters.label')}>
      <StatusChoice value={asQuery(filters).status} onChange={(status) => change({ status: status.join(',') })} />
      <Choice
        label={t('filters.group')}
        value={filters.job_group}
        onChange={(job_group) => change({ job_group })}
        options={groups.map((group) => ({ value: String(group.id), label: group.title || group.app_name }))}
      />
      <JobChoice
        className="filter-choice"
        value={asQuery(filters).job_id}
        onChange={(id) => change({ job_id: id?.toString() })}
      />
      <Choice
        label={t('filters.cause')}
        value={filters.cause}
        onChange={(cause) => change({ cause })}
        options={(Object.keys(CAUSES) as Cause[]).map((one) => ({ value: one, label: t(`cause.${one}`) }))}
      />
      <ExecutorChoice value={filters.executor} onChange={(executor) => change({ executor })} />
      <Span filters={filters} change={change} />
      <SearchField
        className="filter-text"
        label={t('filters.text')}
        value={filters.text}
        onSearch={(text) => change({ text })}
      />
      <Chips filters={filters} change={change} />
      {any && (
        <Button
          type="link"
          size="small"
          onClick={() => change(Object.fromEntries(FILTERS.map((name) => [name, undefined])))}
        >
          {t('filters.clear')}
        </Button>
      )}
    </search>
  );
}

interface StatusProps {
  value: ListedStatus[] | undefined;
  onChange: (chosen: ListedStatus[]) => void;
}

/** Any of several: everything that went wrong is three of them. */
function StatusChoice({ value, onChange }: StatusProps) {
  const { t } = useTranslation(['executions', 'status']);
  return (
    <ClearableSelect<ListedStatus[], { value: ListedStatus; label: string }>
      mode="multiple"
      maxTagCount="responsive"
      showSearch={{ optionFilterProp: 'label' }}
      className="filter-statuses"
      popupMatchSelectWidth={220}
      placeholder={t('filters.status')}
      aria-label={t('filters.status')}
      value={value ?? []}
      onChange={onChange}
      options={STATUSES.map((one) => ({ value: one, label: t(`status:name.${one}`) }))}
      optionRender={({ value: one, label }) => (
        <span className={`status-choice status-${LOOKS[one as ListedStatus].colour}`}>
          {LOOKS[one as ListedStatus].icon}
          <span>{label}</span>
        </span>
      )}
    />
  );
}

interface ChoiceProps {
  label: string;
  value: string | undefined;
  onChange: (value: string | undefined) => void;
  options: { value: string; label: string }[];
}

function Choice({ label, value, onChange, options }: ChoiceProps) {
  return (
    <ClearableSelect
      showSearch={{ optionFilterProp: 'label' }}
      className="filter-choice"
      popupMatchSelectWidth={220}
      placeholder={label}
      aria-label={label}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
      options={options}
    />
  );
}

function Span({ filters, change }: Props) {
  const { t } = useTranslation('executions');
  const { since, until } = filters;
  const options = (Object.keys(SPANS) as (keyof typeof SPANS)[]).map((one) => ({
    value: one as string,
    label: t(`filters.${SPANS[one]}`),
  }));
  const chosen = since !== undefined && (until !== undefined || !(since in SPANS));
  if (chosen && since) options.push({ value: since, label: t('filters.chosen') });
  return (
    <Choice
      label={t('filters.since')}
      value={since}
      onChange={(span) => change({ since: span, until: undefined })}
      options={options}
    />
  );
}

/** Filters that come from links, each with a way to be rid of it. */
function Chips({ filters, change }: Props) {
  const { t } = useTranslation('executions');
  const chips: [FilterName, string][] = [];
  if (filters.batch_id) chips.push(['batch_id', t('filters.batch', { id: filters.batch_id })]);
  return chips.map(([name, text]) => (
    <Tag
      key={name}
      closable={{ closeIcon: <CloseOutlined />, 'aria-label': `${t('filters.clear')}: ${text}` }}
      onClose={() => change({ [name]: undefined })}
    >
      {text}
    </Tag>
  ));
}
