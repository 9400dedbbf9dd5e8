import { Form, Input, Segmented, Skeleton } from 'antd';
import { useEffect, useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { laidOut } from '@/api/exactJson';
import { withLineEnds } from '@/parts/code/lineEnds';
import { GrowingText } from '@/parts/GrowingText';
import { ParameterInput } from '@/parts/job/ParameterInput';
import {
  fieldsOf,
  formOf,
  type ParamField,
  readObject,
  type Schema,
  type Values,
  type Wrong,
  withValue,
  writeObject,
  wrongWith,
} from '@/parts/job/schema';
import './job.css';

export const PARAM_LIMIT = 65_535;

interface Props {
  id?: string;
  /** What the handler announced; nothing is known of it otherwise. */
  schema: Schema | null | undefined;
  /** What it takes is still being asked for: nobody begins to type into a field that then becomes another. */
  reading?: boolean;
  value?: string;
  onChange?: (text: string) => void;
  /** Is told what is wrong with the parameter as it stands. */
  onWrong?: (wrong: Wrong[], mode: ParameterMode) => void;
}

export type ParameterMode = 'form' | 'json';

/** The parameter of a job: a form made from what its handler takes, or the text itself. Both are the same value. */
export function ParameterField({ id, schema, reading = false, value = '', onChange = () => {}, onWrong }: Props) {
  const { t } = useTranslation('jobs');
  const form = useMemo(() => formOf(schema), [schema]);
  const values = readObject(value);
  const [asText, setAsText] = useState(false);
  // What stands in a field and is no value yet. It is not lost, and not passed over.
  const [typed, setTyped] = useState<Values>(new Map());
  const shown: ParameterMode = asText || values === null ? 'json' : 'form';
  const wrong = useMemo(() => wrongWith(form, value, typed), [form, value, typed]);
  useEffect(() => onWrong?.(wrong, shown), [onWrong, wrong, shown]);
  if (reading) return <Skeleton active title={false} paragraph={{ rows: 2 }} />;
  if (form.kind === 'line') {
    return (
      <GrowingText
        id={id}
        value={value}
        maxLength={PARAM_LIMIT}
        placeholder={form.title}
        aria-label={t('param.text')}
        onChange={onChange}
      />
    );
  }
  if (form.kind === 'free') return <Text id={id} value={value} onChange={onChange} />;

  const fields = fieldsOf(form, values ?? new Map());
  const troubleOf = ({ name }: ParamField) => wrong.find((one) => one.name === name) ?? null;

  function show(mode: ParameterMode) {
    setAsText(mode === 'json');
    if (mode !== 'json') return;
    setTyped(new Map());
    onChange(laidOut(typed.size > 0 ? writeObject(new Map([...(values ?? []), ...typed])) : value));
  }

  return (
    <div>
      <Segmented
        className="param-mode"
        size="small"
        aria-label={t('param.mode')}
        value={shown}
        onChange={show}
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
        // One that is refused marks itself, and not all of them.
        <Form.Item noStyle validateStatus="">
          <div className="param-fields">
            {fields.length === 0 && <span className="muted">{t('param.nothing')}</span>}
            {fields.map((field) => (
              <ParameterInput
                key={field.name}
                field={field}
                value={values?.get(field.name)}
                typed={typed.get(field.name)}
                trouble={troubleOf(field)}
                onChange={(changed) => {
                  setTyped(withValue(typed, field.name, undefined));
                  onChange(writeObject(withValue(values ?? new Map(), field.name, changed)));
                }}
                onTyped={(text) => setTyped(withValue(typed, field.name, text))}
              />
            ))}
          </div>
        </Form.Item>
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
      onChange={({ target }) => onChange(withLineEnds(target.value, value))}
    />
  );
}
