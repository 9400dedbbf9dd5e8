import { Input, Segmented } from 'antd';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ParameterInput } from '@/parts/job/ParameterInput';
import { formOf, pretty, readObject, type Schema, type Values, writeObject } from '@/parts/job/schema';
import './job.css';

export const PARAM_LIMIT = 65_535;

interface Props {
  id?: string;
  /** What the handler announced; nothing is known of it otherwise. */
  schema: Schema | null | undefined;
  value?: string;
  onChange?: (text: string) => void;
}

/** The parameter of a job: a form made from what its handler takes, or the text itself. Both are the same value. */
export function ParameterField({ id, schema, value = '', onChange = () => {} }: Props) {
  const { t } = useTranslation('jobs');
  const form = useMemo(() => formOf(schema), [schema]);
  const values = readObject(value);
  const [asText, setAsText] = useState(false);
  if (form.kind === 'line') {
    return (
      <Input
        id={id}
        value={value}
        maxLength={PARAM_LIMIT}
        placeholder={form.title}
        aria-label={t('param.text')}
        onChange={(event) => onChange(event.target.value)}
      />
    );
  }
  if (form.kind === 'free') return <Text id={id} value={value} onChange={onChange} />;
  const shown = asText || values === null ? 'json' : 'form';
  return (
    <div>
      <Segmented
        className="param-mode"
        size="small"
        aria-label={t('param.mode')}
        value={shown}
        onChange={(mode) => {
          setAsText(mode === 'json');
          if (mode === 'json') onChange(pretty(value));
        }}
        options={[
          { value: 'form', label: t('param.form'), disabled: values === null },
          { value: 'json', label: 'JSON' },
        ]}
      />
      {shown === 'json' ? (
        <>
          <Text id={id} value={value} onChange={onChange} />
          {values === null && <p className="param-trouble">{t('param.notAnObject')}</p>}
        </>
      ) : (
        <div className="param-fields">
          {form.fields.length === 0 && <span className="muted">{t('param.nothing')}</span>}
          {form.fields.map((field) => (
            <ParameterInput
              key={field.name}
              field={field}
              value={values?.[field.name]}
              onChange={(changed) => onChange(writeObject({ ...values, [field.name]: changed } as Values))}
            />
          ))}
        </div>
      )}
    </div>
  );
}

function Text({ id, value, onChange }: { id: string | undefined; value: string; onChange: (text: string) => void }) {
  const { t } = useTranslation('jobs');
  return (
    <Input.TextArea
      id={id}
      className="mono"
      rows={4}
      maxLength={PARAM_LIMIT}
      value={value}
      aria-label={t('param.text')}
      onChange={(event) => onChange(event.target.value)}
    />
  );
}
