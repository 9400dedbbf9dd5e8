import { Alert } from 'antd';
import { useTranslation } from 'react-i18next';
import { exactText } from '@/api/exactJson';
import type { Header } from '@/api/scripts';
import { formOf, type ParamField } from '@/parts/job/schema';
import { useKnownProblems } from '@/parts/ProblemNotice';

/** What the code says of itself: what it needs and which parameters it takes. */
export function Declared({ header }: { header: Header }) {
  const { t } = useTranslation('scripts');
  const form = formOf(header.params_schema);
  const takes = form.kind === 'fields' ? form.fields : [];
  const needs = [...(header.requires_python ? [`python ${header.requires_python}`] : []), ...header.requirements];
  if (header.header_trouble) return <Trouble trouble={header.header_trouble} />;
  if (needs.length + takes.length === 0) return <p className="muted declared">{t('declared.nothing')}</p>;
  return (
    <dl className="declared">
      <dt className="muted">{t('declared.needs')}</dt>
      <dd>
        {needs.length === 0 && '–'}
        {needs.map((one) => (
          <code key={one}>{one}</code>
        ))}
      </dd>
      <dt className="muted">{t('declared.takes')}</dt>
      <dd>
        {takes.length === 0 && '–'}
        {takes.map((one) => (
          <Parameter key={one.name} field={one} type={typeOf(header, one.name)} />
        ))}
      </dd>
    </dl>
  );
}

function Parameter({ field, type }: { field: ParamField; type: string }) {
  const { t } = useTranslation(['scripts', 'jobs']);
  const said = [
    type,
    field.required && t('declared.required'),
    field.options.length > 0 && field.options.map((one) => String(JSON.parse(one))).join(' | '),
    field.min !== undefined && `≥ ${field.min}`,
    field.max !== undefined && `≤ ${field.max}`,
    field.fallback !== undefined && t('jobs:param.fallback', { value: exactText(field.fallback) }),
    field.description,
  ];
  return (
    <div>
      <code>{field.name}</code> <span className="muted">{said.filter(Boolean).join(' · ')}</span>
    </div>
  );
}

/** As the header writes it. */
function typeOf(header: Header, name: string): string {
  const properties = header.params_schema?.properties as Record<string, { type: string }> | undefined;
  return properties?.[name]?.type ?? '';
}

function Trouble({ trouble }: { trouble: NonNullable<Header['header_trouble']> }) {
  const { is = trouble.detail, next } = useKnownProblems()(trouble.code, trouble.facts);
  return <Alert className="declared" type="error" showIcon title={is} description={next} />;
}
