import { Tag } from 'antd';
import { useTranslation } from 'react-i18next';
import { Link } from 'react-router';

/** The tags of a job; each leads to the jobs that have it. */
export function JobTags({ tags }: { tags: readonly string[] }) {
  const { t } = useTranslation('jobs');
  if (tags.length === 0) return null;
  return (
    <span className="job-tags">
      {tags.map((tag) => (
        <Link key={tag} to={`/jobs?tag=${encodeURIComponent(tag)}`} title={t('withTag', { tag })}>
          <Tag>{tag}</Tag>
        </Link>
      ))}
    </span>
  );
}
