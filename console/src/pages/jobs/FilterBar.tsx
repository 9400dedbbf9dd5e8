import { useQuery } from '@tanstack/react-query';
import { Button, Segmented } from 'antd';
import { useTranslation } from 'react-i18next';
import { groupsQuery } from '@/api/groups';
import { inUseQuery, NOTHING_IN_USE } from '@/api/jobs';
import { asQuery, FILTERS, type FilterName, type JobFilters, ONLY, tagsIn } from '@/pages/jobs/filters';
import { ClearableSelect } from '@/parts/clearable';
import { SearchField } from '@/parts/SearchField';

interface Props {
  filters: JobFilters;
  change: (changes: { [P in FilterName]?: string | undefined }) => void;
}

/** What jobs have, and what the address asks for though none has it any more. */
function choices(known: readonly string[], asked: readonly string[]) {
  return [...new Set([...known, ...asked])].map((value) => ({ value, label: value }));
}

/** Filters apply at once and stay in the address. */
export function FilterBar({ filters, change }: Props) {
  const { t } = useTranslation('jobs');
  const groups = useQuery(groupsQuery).data?.items ?? [];
  const inUse = useQuery(inUseQuery).data ?? NOTHING_IN_USE;
  const tags = tagsIn(filters.tag);
  const views = [
    { value: '', label: t('only.all') },
    ...ONLY.map((one) => ({ value: one as string, label: t(`only.${one}`) })),
  ];
  return (
    <search className="job-filters" aria-label={t('filters.label')}>
      <Segmented
        aria-label={t('only.label')}
        options={views}
        value={asQuery(filters).only ?? ''}
        onChange={(only) => change({ only })}
      />
      <ClearableSelect
        showSearch={{ optionFilterProp: 'label' }}
        className="job-group-choice"
        popupMatchSelectWidth={240}
        placeholder={t('filters.group')}
        aria-label={t('filters.group')}
        value={filters.job_group ?? null}
        onChange={(job_group) => change({ job_group: job_group ?? undefined })}
        options={groups.map((group) => ({ value: String(group.id), label: group.title || group.app_name }))}
      />
      <ClearableSelect
        showSearch
        className="job-group-choice"
        popupMatchSelectWidth={240}
        placeholder={t('filters.author')}
        aria-label={t('filters.author')}
        value={filters.author ?? null}
        onChange={(author) => change({ author: author ?? undefined })}
        options={choices(inUse.authors, filters.author ? [filters.author] : [])}
      />
      <ClearableSelect
        mode="multiple"
        maxCount={10}
        maxTagCount="responsive"
        className="job-tags-choice"
        popupMatchSelectWidth={240}
        placeholder={t('filters.tags')}
        aria-label={t('filters.tags')}
        value={tags}
        onChange={(chosen: string[]) => change({ tag: chosen.join(',') })}
        options={choices(inUse.tags, tags)}
      />
      <SearchField
        className="job-text"
        label={t('filters.text')}
        value={filters.text}
        onSearch={(text) => change({ text })}
      />
      {FILTERS.some((name) => filters[name]) && (
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
