import { Input, InputNumber, Select, Switch } from 'antd';
import { useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type ParamField, troubleWith } from '@/parts/job/schema';

interface Props {
  field: ParamField;
  value: unknown;
  onChange: (value: unknown) => void;
}

/** One argument of a handler, by its kind. */
export function ParameterInput({ field, value, onChange }: Props) {
  const { t } = useTranslation('jobs');
  const id = useId();
  const trouble = troubleWith(field, value);
  return (
    <div className="param-field">
      <label htmlFor={id}>
        <span className="mono">{field.name}</span>
        {field.required && (
          <span className="required-mark" title={t('param.missing')}>
            {' '}
            *
          </span>
        )}
      </label>
      <Entry id={id} field={field} value={value} onChange={onChange} />
      {trouble && trouble !== 'missing' && (
        <p className="param-trouble">{t(`param.${trouble}`, { min: field.min, max: field.max })}</p>
      )}
      {(field.description || field.fallback !== undefined) && (
        <p className="muted param-help">
          {field.description}{' '}
          {field.fallback !== undefined && t('param.fallback', { value: JSON.stringify(field.fallback) })}
        </p>
      )}
    </div>
  );
}

function Entry({ id, field, value, onChange }: Props & { id: string }) {
  const { t } = useTranslation('jobs');
  const shown = field.fallback === undefined || field.fallback === null ? '' : String(field.fallback);
  switch (field.kind) {
    case 'integer':
    case 'number':
      return (
        <InputNumber
          id={id}
          className="param-number"
          value={typeof value === 'number' ? value : null}
          placeholder={shown}
          onChange={(given) => onChange(given ?? undefined)}
        />
      );
    case 'switch':
      return (
        <Switch id={id} checked={typeof value === 'boolean' ? value : field.fallback === true} onChange={onChange} />
      );
    case 'choice':
      return (
        <Select
          id={id}
          className="param-choice"
          allowClear
          value={value ?? null}
          placeholder={shown || t('param.choose')}
          options={field.options.map((option) => ({ value: option, label: String(option) }))}
          onChange={(chosen) => onChange(chosen ?? undefined)}
        />
      );
    case 'list':
      return (
        <Select
          id={id}
          className="param-choice"
          mode="tags"
          open={false}
          suffixIcon={null}
          tokenSeparators={[',', '\n']}
          value={Array.isArray(value) ? value : []}
          placeholder={t('param.list')}
          onChange={(names: unknown[]) => onChange(names.length > 0 ? names : undefined)}
        />
      );
    case 'json':
      return <Json id={id} value={value} onChange={onChange} />;
    case 'date':
    case 'text':
      return (
        <Input
          id={id}
          {...(field.kind === 'date' && { type: 'date' })}
          value={typeof value === 'string' ? value : ''}
          placeholder={shown}
          onChange={(event) => onChange(event.target.value === '' && !field.required ? undefined : event.target.value)}
        />
      );
  }
}

/** A value for which there is no simple entry. While it is no JSON it is kept as typed, and the last good one counts. */
function Json({ id, value, onChange }: { id: string; value: unknown; onChange: (value: unknown) => void }) {
  const { t } = useTranslation('jobs');
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value));
  const [bad, setBad] = useState(false);
  function change(typed: string) {
    setText(typed);
    try {
      onChange(typed.trim() === '' ? undefined : JSON.parse(typed));
      setBad(false);
    } catch {
      setBad(true);
    }
  }
  return (
    <>
      <Input.TextArea
        id={id}
        className="mono"
        rows={2}
        {...(bad && { status: 'error' as const })}
        value={text}
        onChange={(event) => change(event.target.value)}
      />
      {bad && <p className="param-trouble">{t('param.notJson')}</p>}
    </>
  );
}
